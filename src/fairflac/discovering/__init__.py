"""`fairflac discover`: which shortcut do these images offer? Found in seconds, from frozen features."""
