"""fairflac: image classifiers that do not lean on a shortcut, trained without labels of that shortcut."""

__version__ = "0.1.0"
