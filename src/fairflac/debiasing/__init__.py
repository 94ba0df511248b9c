"""From a folder of images to a model that leans less on a shortcut, with nothing else given."""
