"""How sure a number is: 95 % bootstrap intervals, what stands in where no resample differs, and differences of shares.

Differences have the intervals of Newcombe (1998), method 10: the distances from each share to the ends of its own
interval are added as if they were standard errors. They hold their value, lie within ±1, and are never without width,
which a bootstrap of the difference is where all images are alike.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from fairflac.metrics.predictions import Counts, Values

LEVEL = 0.95
DRAWS = 1000
DRAWS_OF_PAIRS = 200  # of a statistic of pairs, each as costly as the first
# Numbers that all resamples of one table may have: with hundreds of classes there are fewer draws, and 100 at least.
MOST = 10**8
# Of them at a time.
CHUNK = 2**22
SEED = 0  # the same table has the same intervals

Statistic = Callable[[Counts], Values]


class Measured(NamedTuple):
    """A number, its 95 % interval, and how many images are behind it."""

    value: float
    low: float
    high: float
    n: int


def intervals(counts: Counts, metrics: Mapping[str, Statistic]) -> dict[str, tuple[float, float]]:
    """The range of each metric over resamples of the images of every group."""
    draws = int(np.clip(MOST // max(counts.n.size, 1), 100, DRAWS))
    at_a_time = max(CHUNK // max(counts.n.size, 1), 1)
    values: dict[str, list[np.ndarray]] = {name: [] for name in metrics}
    for start in range(0, draws, at_a_time):
        drawn = counts.resampled(min(at_a_time, draws - start), SEED + start)
        for name, metric in metrics.items():
            values[name].append(metric(drawn))
    return {name: percentiles(np.concatenate(parts)) for name, parts in values.items()}


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Of a share of n images. Right answers in a resample are a binomial over n, whose quantiles are known."""
    from scipy.special import bdtr, bdtrik  # scipy.stats has the same, and takes a second to import

    tails = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    counts = np.ceil(bdtrik(tails, n, share))
    counts -= bdtr(np.maximum(counts - 1, 0), n, share) >= tails  # where the inverse was rounded up to the next
    low, high = np.maximum(counts, 0) / n
    return clopper_pearson_if_constant(share, (float(low), float(high)), n)


def clopper_pearson_if_constant(share: float, interval: tuple[float, float], n: float) -> tuple[float, float]:
    """The same interval, or that of Clopper and Pearson (1934) where no resample of n images differs.

    Images that are all right, or all wrong, are resampled to the same share, and so is a mean over groups each of which
    is all right or all wrong.
    """
    if n <= 0 or (share not in (0, 1) and interval[0] < interval[1]):
        return interval
    from scipy.special import betaincinv

    tail = (1 - LEVEL) / 2
    count = share * n  # no whole number where n is the size of an even sample as sure: Korn and Graubard (1998)
    low = float(betaincinv(count, n - count + 1, tail)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return low, high


def bootstrap_interval(values: np.ndarray, statistic: Callable[..., np.ndarray] = np.mean) -> tuple[float, float]:
    """The interval of a statistic of (N,) values, resampled with replacement."""
    return percentiles(statistic(np.random.default_rng(SEED).choice(values, (DRAWS, len(values))), axis=1))


def percentiles(values: np.ndarray) -> tuple[float, float]:
    """The ends of the middle 95 % of (R,) values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


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
