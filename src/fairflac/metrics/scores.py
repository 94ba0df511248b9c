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


def effective_size(sizes: np.ndarray) -> float:
    """(G,) images per group → how many, in groups of equal size, would measure the mean of the groups as precisely.

    A mean of G group accuracies has the variance p(1 - p) · Σ(1 / n_g) / G², as if there were G² / Σ(1 / n_g) images.
    """
    return len(sizes) ** 2 / float((1 / sizes).sum())


def _of(counts: Counts, groups: np.ndarray) -> Values:
    """(..., G) accuracies of the chosen groups."""
    return counts.right[..., groups] / counts.per_group[..., groups]


def _mean(counts: Counts, groups: np.ndarray) -> Values:
    """NaN where there is no such group."""
    return _of(counts, groups).sum(-1) / (groups.sum() or np.nan)
