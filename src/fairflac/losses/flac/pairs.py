"""Which pairs FLAC uses: the set S of Eq. 1, inferred from the bias model alone (Eq. 2)."""

import math
from typing import Literal, NamedTuple

from fairflac.errors import NotFinite
from fairflac.losses.flac.arrays import Array, namespace, to_host
from fairflac.losses.flac.distances import Points
from fairflac.losses.flac.kernels import Similarity

Pairs = Literal["conflicting", "all", "same-target", "different-target"]
Threshold = Literal["midrange", "midrange-off-diagonal"]

# Kernel values this many roundings from the threshold tie with it, so that noise makes no pairs.
TIE = 4


class Limits(NamedTuple):
    """The threshold of Eq. 2 moved to squared distances, so that no root is taken of N² elements."""

    same: float  # below it two samples share the attribute
    different: float  # from it on they do not
    threshold: float  # in kernel units
    spread: float  # largest minus smallest similarity


def attribute_limits(b: Points, h: Points, tiles: list[slice], similarity: Similarity, rule: Threshold) -> Limits:
    """Midway between the largest and the smallest similarity of the bias model (Eq. 2).

    `midrange` takes them over the whole matrix, whose diagonal fixes the maximum, and a tie is in neither set (what the
    released code does); `midrange-off-diagonal` over pairs of two samples, and a tie counts as different (the paper).
    """
    itself, nearest, farthest = _extremes(b, h, tiles, off_diagonal=rule == "midrange-off-diagonal")
    smallest = similarity.at(farthest)
    threshold = (similarity.at(nearest) + smallest) / 2
    rounding = TIE * float(namespace(b.rows).finfo(b.rows.dtype).eps)
    same = similarity.inverse(threshold * (1 + rounding))
    different = same if rule == "midrange-off-diagonal" else similarity.inverse(threshold * (1 - rounding))
    return Limits(same, different, threshold, similarity.at(itself) - smallest)


def _extremes(b: Points, h: Points, tiles: list[slice], off_diagonal: bool) -> tuple[float, float, float]:
    """Squared distances of a sample and itself, the nearest and the farthest two samples of the bias model.

    All that the host must know comes over at once, so here also NaN and infinity are found.
    """
    nearest, farthest = [], []
    for rows in tiles:
        squared = b.tile(rows, first=rows.start)  # the other triangle is the same
        farthest.append(squared.max())
        if off_diagonal:
            squared.reshape(-1)[:: squared.shape[1] + 1] = math.inf  # never a pair, so nobody else will miss it
            nearest.append(squared.min())
    lift = [] if b.lift is None else [b.lift.min()]
    sum_b, sum_h, *values = to_host([b.squares.sum(), h.squares.sum(), *farthest, *nearest, *lift])
    for name, total in (("bias_features", sum_b), ("features", sum_h)):
        if not math.isfinite(total):
            raise NotFinite(
                f"{name} must be finite, and so must its squares; there is NaN, infinity or a huge value: lower lr, or "
                "the weight of the loss"
            )
    # A sample is at 0 from itself, but for the cosine of nothing but zero rows.
    itself = 2 * values.pop() if lift else 0.0
    far, near = max(values[: len(farthest)]), min(values[len(farthest) :], default=itself)
    return itself, max(near, 0.0) if math.isfinite(near) else itself, max(far, 0.0)


def in_s(squared: Array, same_class: Array, limits: Limits, pairs: Pairs) -> Array:
    """Mask of the pairs that enter the loss, from their squared distances by the bias model; the diagonal is noise."""
    if pairs == "all":
        return same_class | ~same_class
    if pairs == "same-target":  # A10: same class, different attribute
        return (squared >= limits.different) & same_class
    if pairs == "different-target":  # A01: different class, same attribute
        return (squared < limits.same) & ~same_class
    return ((squared >= limits.different) & same_class) | ((squared < limits.same) & ~same_class)
