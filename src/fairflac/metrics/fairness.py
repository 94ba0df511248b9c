"""Disparate impact and disparate mistreatment: the p % rule and the gaps of error rates (paper, appendix).

Each is about one class against all others, "positive" meaning that it is predicted, and compares the values of one
attribute. With two classes the second is the positive one; with more, a metric is that of the class where it is worst.
Values without samples to measure a rate on are left out.
"""

from collections.abc import Callable

import numpy as np

from fairflac.predictions import Predictions

Rates = list[float]  # one for each value of the attribute


def p_rule(table: Predictions, attribute: str) -> float:
    """Smallest ratio of P(ŷ = 1 | t) between two values of the attribute; fair from 0.8 on. 1 if nobody is positive."""
    rates = [_rates(table, attribute, table.prediction == c, None) for c in _positive(table)]
    return min(min(r) / max(r) if max(r, default=0) > 0 else 1.0 for r in rates)


def fpr_gap(table: Predictions, attribute: str) -> float:
    """|D_FPR|: largest difference of P(ŷ = 1 | y = 0, t) between two values of the attribute."""
    return _largest_gap(table, attribute, lambda c: (table.prediction == c, table.y != c))


def fnr_gap(table: Predictions, attribute: str) -> float:
    """|D_FNR|: largest difference of P(ŷ = 0 | y = 1, t) between two values of the attribute."""
    return _largest_gap(table, attribute, lambda c: (table.prediction != c, table.y == c))


def error_rate_gap(table: Predictions, attribute: str) -> float:
    """|D_FPR| + |D_FNR|."""
    return fpr_gap(table, attribute) + fnr_gap(table, attribute)


def _largest_gap(table: Predictions, attribute: str, rate: Callable[[int], tuple[np.ndarray, np.ndarray]]) -> float:
    """Of a rate, given as what happens and among whom."""
    rates = [_rates(table, attribute, *rate(c)) for c in _positive(table)]
    return max(max(r) - min(r) if r else 0.0 for r in rates)


def _positive(table: Predictions) -> range:
    classes = int(max(table.y.max(), table.prediction.max())) + 1
    return range(1, 2) if classes <= 2 else range(classes)


def _rates(table: Predictions, attribute: str, happens: np.ndarray, among: np.ndarray | None) -> Rates:
    """How often it happens, for each value of the attribute that has any sample."""
    bias = table.bias[attribute]
    groups = [bias == value for value in np.unique(bias)]
    inside = [group if among is None else group & among for group in groups]
    return [float(happens[group].mean()) for group in inside if group.any()]
