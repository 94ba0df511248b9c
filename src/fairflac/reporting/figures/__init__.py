"""Figures: pure functions of run directories. One figure, one file; `registry` has them by name."""

from fairflac.reporting.figures.curves import training_curves
from fairflac.reporting.figures.feature_map import feature_maps
from fairflac.reporting.figures.group_accuracy import group_accuracies
from fairflac.reporting.figures.images import distances_from_centre, nearest_neighbours, sample_grid
from fairflac.reporting.figures.pairs import pairs_per_batch, similarity_distributions, similarity_figure
from fairflac.reporting.figures.style import SAME_ATTRIBUTE, SAME_CLASS, Drawing, NothingToDraw, png, svg

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
    "similarity_distributions",
    "similarity_figure",
    "svg",
    "training_curves",
]
