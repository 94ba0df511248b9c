"""Disparate impact and disparate mistreatment: do predictions depend on the attribute? (paper, appendix)

Each is about one class against all others, "positive" meaning that it is predicted, and compares the values of one
attribute. With two classes the second is the positive one; with more, a metric is that of the class where it is worst.
Values without images to measure a rate on are left out. All take `Counts` with any leading axes, and keep these.
"""

from collections.abc import Callable

import numpy as np

from fairflac.metrics.predictions import Counts, Values

Rate = Callable[[Counts, int], np.ndarray]  # (..., K), of one positive class; NaN without images


def p_rule(counts: Counts) -> Values:
    """Smallest ratio of P(ŷ = 1 | t) between two values of the attribute; fair from 0.8 on. 1 if nobody is positive."""
    rates = _rates(counts, positive_rate)
    most = rates.max(-1)
    return np.where(most > 0, rates.min(-1) / np.where(most > 0, most, 1), 1).min(0)


def demographic_parity_gap(counts: Counts) -> Values:
    """Largest difference of P(ŷ = 1 | t) between two values of the attribute."""
    return _largest_gap(counts, positive_rate)


def fpr_gap(counts: Counts) -> Values:
    """|D_FPR|: largest difference of P(ŷ = 1 | y = 0, t) between two values of the attribute."""
    return _largest_gap(counts, false_positive_rate)


def fnr_gap(counts: Counts) -> Values:
    """|D_FNR|: largest difference of P(ŷ = 0 | y = 1, t) between two values of the attribute."""
    return _largest_gap(counts, false_negative_rate)


def error_rate_gap(counts: Counts) -> Values:
    """|D_FPR| + |D_FNR|."""
    return fpr_gap(counts) + fnr_gap(counts)


def equalised_odds_gap(counts: Counts) -> Values:
    """The larger of both gaps (Hardt et al., 2016)."""
    return np.maximum(fpr_gap(counts), fnr_gap(counts))


def bias_amplification(counts: Counts) -> Values:
    """How much more often than is true the class is predicted that goes with the attribute's value; 0 is none.

    BiasAmp from attribute to class of Wang and Russakovsky (2021): the mean over classes and values of the difference
    between P(ŷ = c | t) and P(y = c | t), with its sign turned where c and t do not go together. What goes together is
    known here and need not be estimated.
    """
    per_value = np.maximum(counts.n.sum((-3, -1)), 1)[..., None, :]  # (..., 1, K)
    difference = (np.moveaxis(counts.n.sum(-3), -1, -2) - counts.per_group) / per_value
    return np.where(counts.aligned, difference, -difference).mean((-2, -1))


def positive_rate(counts: Counts, positive: int) -> np.ndarray:
    """P(ŷ = positive | t)."""
    return _share(counts.named[..., positive], counts.per_group.sum(-2))


def false_positive_rate(counts: Counts, positive: int) -> np.ndarray:
    """P(ŷ = positive | y ≠ positive, t)."""
    wrongly = counts.named[..., positive] - counts.n[..., positive, :, positive]
    return _share(wrongly, counts.per_group.sum(-2) - counts.per_group[..., positive, :])


def false_negative_rate(counts: Counts, positive: int) -> np.ndarray:
    """P(ŷ ≠ positive | y = positive, t)."""
    return 1 - _share(counts.n[..., positive, :, positive], counts.per_group[..., positive, :])


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _rates(counts: Counts, rate: Rate) -> np.ndarray:
    """(classes, ..., K)."""
    classes = counts.n.shape[-1]
    return np.stack([rate(counts, c) for c in (range(1, 2) if classes == 2 else range(classes))])


def _largest_gap(counts: Counts, rate: Rate) -> Values:
    rates = _rates(counts, rate)
    top, bottom = (np.where(np.isnan(rates), end, rates) for end in (-np.inf, np.inf))
    gap = top.max(-1) - bottom.min(-1)
    return np.maximum(gap, 0).max(0)  # a class that no value can be measured on has -inf
