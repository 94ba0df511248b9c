"""Files, progress, hardware and stopping: what every part stands on."""
