"""How sure a number is: 95 % bootstrap intervals."""

from collections.abc import Callable

import numpy as np

from fairflac.metrics.counts import Counts, Values

LEVEL = 0.95
DRAWS = 1000
# Numbers that all resamples of one table may have: with hundreds of classes there are fewer draws, and 100 at least.
MOST = 10**8
# Of them at a time.
CHUNK = 2**22
SEED = 0  # the same table has the same intervals

Metric = Callable[[Counts], Values]


def intervals(counts: Counts, metrics: dict[str, Metric]) -> dict[str, tuple[float, float]]:
    """The range of each metric over resamples of the images of every group."""
    draws = int(np.clip(MOST // max(counts.n.size, 1), 100, DRAWS))
    at_a_time = max(CHUNK // max(counts.n.size, 1), 1)
    values: dict[str, list[np.ndarray]] = {name: [] for name in metrics}
    for start in range(0, draws, at_a_time):
        drawn = counts.resampled(min(at_a_time, draws - start), SEED + start)
        for name, metric in metrics.items():
            values[name].append(metric(drawn))
    return {name: percentiles(np.concatenate(parts)) for name, parts in values.items()}


def percentiles(values: np.ndarray) -> tuple[float, float]:
    """The ends of the middle 95 % of (R,) values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
