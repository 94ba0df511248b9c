"""Does a bias model put the right pairs in S? Precision and recall of the inferred S against the true attribute."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import torch

from fairflac.losses.flac import Settings, inferred_pairs
from fairflac.metrics.intervals import DRAWS, SEED, never_certain, percentiles
from fairflac.metrics.measure import Measured


class Half(NamedTuple):
    """(T,) counts of pairs, each in both directions, in T batches: of one half of S (paper, Eq. 1) or of all S."""

    candidates: np.ndarray  # pairs of the same class (A10) or of different classes (A01)
    inferred: np.ndarray
    true: np.ndarray
    both: np.ndarray

    def summary(self) -> dict[str, Measured]:
        """Precision, recall, and the precision of pairs drawn blindly from the candidates."""
        return {
            "precision": _share(self.both, self.inferred),
            "recall": _share(self.both, self.true),
            "chance": _share(self.true, self.candidates),
        }


def count_pairs(
    features: np.ndarray, y: np.ndarray, bias: np.ndarray | None, settings: Settings, batches: Iterable[torch.Tensor]
) -> dict[str, Half]:
    """Pairs in each batch, which is (B,) rows of the table: S is a matter of a batch, as its threshold is.

    `same_target` is A10 (same class, different attribute), `different_target` A01 (different class, same attribute),
    `s` both together. Without `bias` nothing is known to be true.
    """
    counts: dict[str, list[tuple[int, ...]]] = {"same_target": [], "different_target": [], "s": []}
    for index in (batch.numpy() for batch in batches):
        inferred = inferred_pairs(torch.from_numpy(features[index]), torch.from_numpy(y[index]), settings)
        a10, a01 = (mask.numpy() for mask in inferred)
        same_class = y[index][:, None] == y[index]
        same_bias = same_class if bias is None else bias[index][:, None] == bias[index]
        other = ~np.eye(len(index), dtype=bool)
        counts["same_target"].append(_sizes(same_class & other, a10, same_class & ~same_bias))
        counts["different_target"].append(_sizes(~same_class, a01, ~same_class & same_bias))
        counts["s"].append(_sizes(other, a10 | a01, same_class ^ same_bias))
    return {name: Half(*np.array(sizes, dtype=np.int64).reshape(-1, 4).T) for name, sizes in counts.items()}


def pair_quality(halves: Mapping[str, Half], *, known: bool) -> dict[str, Measured]:
    """`pairs` in S per batch, their `share` of all, and with the attribute known how right S and its halves are.

    Intervals are of batches drawn anew, whose number is n.
    """
    s = halves["s"]
    found = {"pairs": _ratio(s.inferred, np.ones_like(s.inferred)), "share": _ratio(s.inferred, s.candidates)}
    if not known:
        return found
    return found | {f"{name}.{key}": value for name, half in halves.items() for key, value in half.summary().items()}


def _sizes(candidates: np.ndarray, inferred: np.ndarray, true: np.ndarray) -> tuple[int, ...]:
    """Of (N, N) masks of one batch, in the order of `Half`."""
    return tuple(int(np.count_nonzero(mask)) for mask in (candidates, inferred, true, inferred & true))


def _share(part: np.ndarray, whole: np.ndarray) -> Measured:
    """All or nothing is as sure as that many batches make it, as if the pairs of one batch were one."""
    value, low, high, n = _ratio(part, whole)
    return Measured(value, *never_certain(value, (low, high), n), n)


def _ratio(part: np.ndarray, whole: np.ndarray) -> Measured:
    """Of sums over the batches; 0 of nothing is 0."""
    n = len(part)
    times = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=DRAWS)
    low, high = percentiles((times @ part) / np.maximum(times @ whole, 1))
    return Measured(float(part.sum() / max(whole.sum(), 1)), low, high, n)
