"""Figures: pure functions of run directories. One figure, one file; `catalogue` has them by name."""

from fairflac.report.figures.centre import distances_from_centre
from fairflac.report.figures.curves import training_curves
from fairflac.report.figures.drawing import Drawing, NothingToDraw
from fairflac.report.figures.feature_map import feature_maps
from fairflac.report.figures.group_accuracy import group_accuracies
from fairflac.report.figures.neighbours import nearest_neighbours
from fairflac.report.figures.pairs_per_batch import pairs_per_batch
from fairflac.report.figures.sample_grid import sample_grid
from fairflac.report.figures.similarity import similarities, similarity_distributions
from fairflac.report.figures.style import SAME_ATTRIBUTE, SAME_CLASS, png, svg

__all__ = [
    "SAME_ATTRIBUTE",
    "SAME_CLASS",
    "Drawing",
    "NothingToDraw",
    "distances_from_centre",
    "feature_maps",
    "group_accuracies",
    "nearest_neighbours",
    "pairs_per_batch",
    "png",
    "sample_grid",
    "similarities",
    "similarity_distributions",
    "svg",
    "training_curves",
]
