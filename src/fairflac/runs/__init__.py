"""Run directories: what training leaves, and everything else reads."""
