"""The published datasets, one file each."""
