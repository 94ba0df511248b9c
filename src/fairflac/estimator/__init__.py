"""FLAC for those who know scikit-learn."""

from fairflac.estimator.classifier import FLACClassifier
from fairflac.estimator.scorer import guessed_groups_scorer

__all__ = ["FLACClassifier", "guessed_groups_scorer"]
