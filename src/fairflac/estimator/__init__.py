"""FLAC for those who know scikit-learn."""

from fairflac.estimator.classifier import FLACClassifier

__all__ = ["FLACClassifier"]
