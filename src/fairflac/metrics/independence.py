"""Does how often predictions are right depend on an attribute, or is it luck? An exact permutation test."""

import numpy as np

from fairflac.metrics.intervals import SEED
from fairflac.metrics.predictions import Predictions, count

PERMUTATIONS = 10_000
MOST = 5 * 10**7  # numbers that are drawn for one table: with thousands of groups there are fewer permutations


def independence_p(table: Predictions, attribute: str) -> float:
    """p of the hypothesis that, given its class, whether a sample is named rightly has nothing to do with its value.

    The statistic is Pearson's chi-squared of right answers by value, summed over classes. If the hypothesis holds, the
    right answers of a class are drawn from its samples without looking at their values: a multivariate hypergeometric
    distribution, which is drawn from here, so that small groups need no approximation. 1 where nothing can be tested.
    """
    counts, rng = count(table, attribute), np.random.default_rng(SEED)
    times = int(np.clip(MOST // counts.per_group.size, 1000, PERMUTATIONS))
    seen, drawn = 0.0, np.zeros(times)
    for sizes, right in zip(counts.per_group, counts.right, strict=True):
        n, hits = int(sizes.sum()), int(right.sum())
        present = sizes > 0
        if 0 < hits < n and present.sum() > 1:
            sizes, right = sizes[present], right[present]
            by_luck = rng.multivariate_hypergeometric(sizes, hits, times, method="marginals")
            seen += float(_chi_squared(right, sizes, hits / n))
            drawn += _chi_squared(by_luck, sizes, hits / n)
    if not drawn.any():
        return 1.0
    return float((1 + (drawn >= seen * (1 - 1e-9)).sum()) / (1 + times))


def _chi_squared(right: np.ndarray, sizes: np.ndarray, share: float) -> np.ndarray:
    """(..., K) right answers → (...) over groups of one class, of which `share` are right."""
    found: np.ndarray = ((right - share * sizes) ** 2 / (sizes * share * (1 - share))).sum(-1)
    return found
