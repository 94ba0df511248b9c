"""Accuracies over the groups of class and attribute value. All take `Counts` with any leading axes, and keep these."""

import numpy as np

from fairflac.metrics.counts import Counts, Values


def overall(counts: Counts) -> Values:
    """Share of right predictions, every image counting alike."""
    return counts.right.sum((-2, -1)) / np.maximum(counts.n.sum((-3, -2, -1)), 1)


def unbiased(counts: Counts) -> Values:
    """Mean of the group accuracies, so that every group counts alike."""
    return _mean(counts, counts.counted)


def aligned(counts: Counts) -> Values:
    """The same over the groups whose attribute goes with their class."""
    return _mean(counts, counts.counted & counts.aligned)


def conflicting(counts: Counts) -> Values:
    """The same over all other groups."""
    return _mean(counts, counts.counted & ~counts.aligned)


def worst_group(counts: Counts) -> Values:
    """The smallest group accuracy."""
    return _of(counts, counts.counted).min(-1) if counts.counted.any() else _mean(counts, counts.counted)


def _of(counts: Counts, groups: np.ndarray) -> Values:
    """(..., G) accuracies of the chosen groups."""
    return counts.right[..., groups] / counts.per_group[..., groups]


def _mean(counts: Counts, groups: np.ndarray) -> Values:
    """NaN where there is no such group."""
    return _of(counts, groups).sum(-1) / (groups.sum() or np.nan)
