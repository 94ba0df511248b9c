"""Differences of two shares, with 95 % intervals that hold their value, lie within ±1, and are never without width.

Newcombe (1998), method 10: the distances from each share to the ends of its own interval are added as if they were
standard errors. A bootstrap of the difference has no width where all images are alike, and this has.
"""

import numpy as np

from fairflac.metrics.intervals import share_interval
from fairflac.metrics.scores import Measured


def share(of: np.ndarray) -> Measured:
    """(N,) bool → how many of the images, with its interval."""
    value, n = float(of.mean()), len(of)
    return Measured(value, *share_interval(value, n), n)


def difference(first: Measured, second: Measured, *, n: int | None = None, correlation: float = 0.0) -> Measured:
    """First minus second; of different images unless their correlation is given. `n`: those behind it, else of both."""
    value = first.value - second.value
    down = _together(first.value - first.low, second.high - second.value, correlation)
    up = _together(first.high - first.value, second.value - second.low, correlation)
    ends = max(value - down, -1.0), min(value + up, 1.0)  # beyond by rounding alone
    return Measured(value, *ends, first.n + second.n if n is None else n)


def paired_difference(first: np.ndarray, second: np.ndarray) -> Measured:
    """Of two (N,) bool columns of the same images."""
    return difference(share(first), share(second), n=len(first), correlation=_phi(first, second))


def _together(one: float, other: float, correlation: float) -> float:
    squared = one**2 + other**2 - 2 * correlation * one * other
    return float(np.sqrt(max(squared, 0.0)))  # rounding can go below zero


def _phi(first: np.ndarray, second: np.ndarray) -> float:
    """Correlation of two columns, moved towards 0 by Newcombe's continuity correction; 0 where a column is constant."""
    both, neither = int((first & second).sum()), int((~first & ~second).sum())
    alone, other = int((first & ~second).sum()), int((second & ~first).sum())
    scale = float(both + alone) * (other + neither) * (both + other) * (alone + neither)
    surplus = float(both * neither - alone * other)
    if surplus > 0:
        surplus = max(surplus - len(first) / 2, 0.0)
    return surplus / float(np.sqrt(scale)) if scale else 0.0
