"""The loss over a list of the pairs of S, on the CPU: for batches where they are few, as they usually are."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import from_numpy

from fairflac.losses.flac.problem import PairProblem, Points, Sums, in_s, out_of_reach, pointwise, row_weights
from fairflac.losses.flac.textbook import ROW_EPS, TINY

Floats = NDArray[Any]
Indices = NDArray[np.intp]
Listed = NDArray[np.int32]

# Features to gather per pair of the batch, from which on masked tiles are faster (measured). The calls that tiles are
# made with take as long as so many pairs: in a small batch nearly all of their time.
WORTH, CALLS = 4, 2**16
# Half of the pairs that a list may have, at 8 bytes each: 134 MB.
MOST = 2**23
# Pairs of a row and a partner that are computed at a time, at about 100 bytes each, so that memory stays bounded
# whatever N is.
AT_ONCE = 2**20
# Pairs whose features are held at a time.
CHUNK = 2**13
# Samples times pairs, up to which a matrix product adds up their pulls faster than scattering does (measured).
SMALL = 2**16


def listed_flac(batch: PairProblem) -> Sums | None:
    """The loss over the pairs (i, j) and (j, i), of ndarrays; None if S is too large to be worth a list."""
    listed = _list_pairs(batch)
    if listed is None:
        return None
    gradient: Floats = np.zeros_like(batch.h.rows)
    parts = [_add_pairs(batch, pairs, rows, gradient) for pairs, rows in _parts(batch, listed)]
    value, pairs, mixed, single, far = (sum(numbers) for numbers in zip(*parts, strict=True))
    return Sums(value, pairs, mixed, single, far, gradient)


def _parts(batch: PairProblem, listed: Listed) -> Iterator[tuple[Indices, Indices]]:
    """(2, U) pairs, and (R, U) the rows that each is in: both, or the one that is ours. Rows come with all partners."""
    whole = batch.share.whole
    ours = listed if whole else listed[:1]
    if ours.size <= AT_ONCE:
        pairs = listed.astype(np.intp)
        yield pairs, pairs[: len(ours)]
        return
    partners = np.bincount(ours.ravel(), minlength=batch.n).cumsum()
    cuts = np.searchsorted(partners, np.arange(AT_ONCE, partners[-1], AT_ONCE))
    for first, last in pairwise(np.unique([0, *cuts, batch.n]).tolist()):
        forth = listed[:, slice(*np.searchsorted(listed[0], (first, last)))]  # which is in the order of the rows
        back = listed[::-1, (listed[1] >= first) & (listed[1] < last)] if whole else listed[:, :0]
        pairs = np.concatenate((forth, back), 1, dtype=np.intp)
        yield pairs, pairs[:1]


def _add_pairs(batch: PairProblem, pairs: Indices, rows: Indices, gradient: Floats) -> tuple[Any, ...]:
    """All but the gradient of `Sums`, of the rows of some pairs; what they pull is added to `gradient`.

    With row j's p = a / A_j and q = k / Z_j, and e = q ∂f/∂q, dL/d log k_ij = e_ij - q_ij Σ_l e_lj. Times d log k / ds
    it is the weight of s_ij = ||h_i - h_j||², whose gradient is 2 (h_i - h_j) for h_i and the opposite for h_j.
    """
    settings, n, ends = batch.settings, batch.n, rows.ravel()
    apart = _Differences(batch.h, pairs)
    k, log_slope = batch.similarity.with_log_slope(apart.squared())
    a = batch.wanted(_Differences(batch.b, pairs).squared())
    class_i, class_j = batch.y[pairs]
    kinds = np.bincount((rows + n * (class_i == class_j)).ravel(), minlength=2 * n)
    different, same = kinds[:n], kinds[n:]  # (N,) partners of another and of the same class
    a_and_k = np.maximum((a, k), TINY)[:, None].repeat(len(rows), 1)  # (2, R, U): of either, and of each row
    partners = different + same
    in_row: Floats = partners[rows]  # (R, U): how many such pairs a row would have
    if settings.balanced_rows:
        weight = row_weights(same, different)
        factors = np.where(class_i == class_j, 1, weight[rows])
        a_and_k *= factors
        in_row = (same + different * weight)[rows] / factors
    # A row's sum of both: what each pair brings to its rows, counted in two ranges of rows.
    sums = np.bincount(np.concatenate((ends, ends + n)), a_and_k.ravel(), 2 * n).reshape(2, n)
    p, q = a_and_k / (sums[:, rows] + ROW_EPS)  # (R, U) each: of pair and row
    terms, e = pointwise(p, q, settings.divergence)
    weights = (e - q * np.bincount(ends, e.ravel(), n)[rows]).sum(0) * (2 * log_slope)
    mixed, single = np.count_nonzero(different * same), np.count_nonzero(partners == 1)
    far = np.count_nonzero(out_of_reach(p, in_row, batch.floor))
    apart.add_gradient(weights, gradient)
    return terms.sum(), rows.size, mixed, single, far


def _list_pairs(batch: PairProblem) -> Listed | None:
    """(2, U): the pairs i < j in S, or all with i among the rows of this process; None if they are too many."""
    whole, mine = batch.share.whole, batch.share.rows
    found, y = [np.empty((2, 0), np.int32)], _in_bytes(batch.y)
    width = batch.b.rows.shape[1] + batch.h.rows.shape[1]
    budget = min(WORTH * (batch.n * (mine.stop - mine.start) + CALLS) // width, MOST)
    for rows in batch.tiles:
        first = rows.start if whole else 0
        mask = in_s(batch.b.tile(rows, first), y[rows, None] == y[first:], batch.limits, batch.settings.pairs)
        flat = np.flatnonzero(mask)
        budget -= len(flat) // 2  # by the same rule for a share: either form is as exact as it is for one process
        if budget < 0:
            return None
        i, j = np.divmod(flat, mask.shape[1])
        pairs = np.array((i + rows.start, j + first), np.int32)
        found.append(pairs[:, pairs[0] < pairs[1] if whole else pairs[0] != pairs[1]])
    return np.concatenate(found, 1)


def _in_bytes(y: Indices) -> NDArray[Any]:
    """(N,) the same classes, in bytes if they fit: N² comparisons take a quarter of the time."""
    fits = y.dtype == np.int64 and len(y) and y.min() >= 0 and y.max() < 256
    return y.astype(np.uint8) if fits else y


class _Differences:
    """h_i - h_j of the pairs, (2, U), in parts of bounded size; a list of one part is kept."""

    def __init__(self, points: Points, pairs: Indices) -> None:
        self.points, self.pairs = points, pairs
        self._kept: Floats | None = None

    def __iter__(self) -> Iterator[tuple[slice, Floats]]:
        i, j = self.pairs
        for start in range(0, max(len(i), 1), CHUNK):  # one part at least
            part = slice(start, start + CHUNK)
            if self._kept is None or len(i) > CHUNK:
                self._kept = self.points.rows.take(i[part], 0)
                self._kept -= self.points.rows.take(j[part], 0)
            yield part, self._kept

    def squared(self) -> Floats:
        """(U,) squared distances, without the rounding of `Points.tile`."""
        squared: Floats = np.concatenate([np.vecdot(difference, difference) for _, difference in self])
        if self.points.lift is not None:
            squared += self.points.lift[self.pairs].sum(0)
        return squared

    def add_gradient(self, weights: Floats, gradient: Floats) -> None:
        """(U,), (N, D): that of Σ weights · s / 2."""
        weights = weights.astype(gradient.dtype)
        i, j = self.pairs
        # Not numpy's product: its threads would fight torch's.
        if len(gradient) * len(i) <= SMALL and self._kept is not None and len(i) <= CHUNK:
            ends: Floats = np.zeros((len(gradient), len(i)), gradient.dtype)
            each = np.arange(len(i))
            ends[i, each] = weights
            ends[j, each] = -weights
            from_numpy(gradient).addmm_(from_numpy(ends), from_numpy(self._kept))  # in place: autocast leaves it alone
            return
        for part, difference in self:
            pull = difference * weights[part, None]
            rows, pulls = self.pairs[:, part].ravel(), np.concatenate([pull, -pull])
            from_numpy(gradient).index_add_(0, from_numpy(rows), from_numpy(pulls))
