"""Is one model better than another on the same images, or was it luck? Paired tests, image by image."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairflac.errors import UserError
from fairflac.metrics.intervals import SEED, Measured, paired_difference, percentiles
from fairflac.metrics.predictions import Predictions, count

PERMUTATIONS = 10_000
CLEAR = 0.05  # a difference whose p is smaller is called clear


class Difference(NamedTuple):
    """Second minus first, its 95 % interval, and the probability of one as large if the models were alike."""

    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    n: int

    @property
    def clear(self) -> bool:
        """Luck does not explain it."""
        return self.p < CLEAR


def compare(first: Predictions, second: Predictions) -> dict[str, Difference]:
    """`accuracy` by McNemar's exact test; unbiased, aligned and conflicting accuracy by permutation.

    Both tables must be of the same images. Several attributes: keys carry their names.
    """
    if not first.same_images(second):
        raise UserError("these runs were tested on different images, so they cannot be compared image by image")
    right = np.stack([table.prediction == table.y for table in (first, second)])
    numbers = {"accuracy": _overall(right)}
    for name in first.bias:
        suffix = f":{name}" if len(first.bias) > 1 else ""
        cells = _Cells(first, right, name)
        numbers |= {f"{key}{suffix}": cells.difference(groups) for key, groups in cells.kinds.items() if groups.any()}
    return numbers


def _overall(right: np.ndarray) -> Difference:
    """One group of all images, for which the exact test is at hand."""
    won, lost = int((right[1] & ~right[0]).sum()), int((right[0] & ~right[1]).sum())
    n = right.shape[1]
    draws = np.random.default_rng(SEED).multinomial(n, [won / n, lost / n, 1 - (won + lost) / n], PERMUTATIONS)
    low, high = percentiles((draws[:, 0] - draws[:, 1]) / n)
    first, second = right.mean(1).tolist()
    return Difference(first, second, (won - lost) / n, low, high, mcnemar(won, lost), n)


def mcnemar(first_only: int, second_only: int) -> float:
    """p of McNemar's exact test: if both models were alike, a coin would decide which of them stands alone."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(first_only, second_only), first_only + second_only, 0.5)))


class _Cells:
    """How often each model alone is right, in each group of class and attribute value."""

    def __init__(self, table: Predictions, right: np.ndarray, attribute: str) -> None:
        counts = count(table, attribute)
        bias = np.unique(table.bias[attribute], return_inverse=True)[1]
        self.n = counts.per_group
        self.right = np.stack([self._sum(table.y, bias, one) for one in right])
        self.won, self.lost = (self._sum(table.y, bias, right[a] & ~right[b]) for a, b in ((1, 0), (0, 1)))
        self.kinds = {
            "unbiased": counts.counted,
            "aligned": counts.counted & counts.aligned,
            "conflicting": counts.counted & ~counts.aligned,
        }

    def _sum(self, y: np.ndarray, bias: np.ndarray, of: np.ndarray) -> np.ndarray:
        total = np.zeros_like(self.n)
        np.add.at(total, (y, bias), of)
        return total

    def difference(self, groups: np.ndarray) -> Difference:
        """Of the mean accuracy of the groups. If the models are alike, a coin decides each time who is right alone."""
        n, won, lost = self.n[groups], self.won[groups], self.lost[groups]
        rng = np.random.default_rng(SEED)
        seen = float(((won - lost) / n).mean())
        heads = rng.binomial(won + lost, 0.5, (PERMUTATIONS, len(n)))
        by_luck = ((2 * heads - won - lost) / n).mean(1)
        p = (1 + (np.abs(by_luck) >= abs(seen) - 1e-12).sum()) / (1 + PERMUTATIONS)
        shares = np.stack([won, lost, n - won - lost], axis=1) / n[:, None]
        drawn = rng.multinomial(n, shares, (PERMUTATIONS, len(n)))
        low, high = percentiles(((drawn[..., 0] - drawn[..., 1]) / n).mean(1))
        means = (self.right[:, groups] / n).mean(1)
        return Difference(float(means[0]), float(means[1]), seen, low, high, float(p), int(n.sum()))


class Change(NamedTuple):
    """Accuracy on the images of one class, of two models."""

    label: int
    before: float
    after: float
    difference: Measured  # after minus before, image by image


def clearly_worse(before: Predictions, after: Predictions, groups: np.ndarray | None = None) -> list[Change]:
    """Classes that the second model names rightly less often on the same images, by more than chance explains.

    `groups`: (N,) count alike within a class, whatever their sizes. On images that are mostly aligned, a model that
    gave up a shortcut would otherwise lose in every class.
    """
    groups = np.zeros_like(before.y) if groups is None else groups
    changes = []
    for label in np.unique(before.y):
        cells = [(before.y == label) & (groups == group) for group in np.unique(groups[before.y == label])]
        first, second = ([(table.prediction == table.y)[cell] for cell in cells] for table in (before, after))
        found = _mean([paired_difference(*columns) for columns in zip(second, first, strict=True)])
        if found.high < 0:
            was, now = (float(np.mean([column.mean() for column in columns])) for columns in (first, second))
            changes.append(Change(int(label), was, now, found))
    return changes


def _mean(parts: Sequence[Measured]) -> Measured:
    """Of differences on different images: distances to the ends add up as standard errors do."""
    value, low, high, n = np.array(parts).T
    down, up = (float(np.sqrt(((value - end) ** 2).sum())) / len(parts) for end in (low, high))
    return Measured(float(value.mean()), float(value.mean()) - down, float(value.mean()) + up, int(n.sum()))
