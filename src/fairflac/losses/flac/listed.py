"""FLAC's loss over a list of pairs: where S is small, as on biased data, and on the CPU, where lists are cheap."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import from_numpy, mm

from fairflac.losses.flac.batch import Batch, Result
from fairflac.losses.flac.distances import Points
from fairflac.losses.flac.divergences import pointwise
from fairflac.losses.flac.pairs import in_s
from fairflac.losses.flac.settings import ROW_EPS, TINY, Settings

Floats = NDArray[Any]
Indices = NDArray[np.intp]

# Features to gather per pair of the batch, from which on masked tiles are faster (measured).
WORTH = 4
# Pairs that a list may have, at about 200 bytes each, so that memory stays bounded whatever N is.
MOST = 2**19
# Pairs whose features are held at a time.
CHUNK = 2**13
# Samples times pairs, up to which a matrix product adds up their pulls faster than scattering does (measured).
SMALL = 2**16


@np.errstate(all="ignore")  # what is not finite is an error already
def listed_flac(bias: Floats, features: Floats, y: Indices, settings: Settings) -> Result | None:
    """(N, D_b), (N, D), (N,) → the loss over the pairs (i, j) and (j, i); None if S is too large to be worth a list.

    With row j's p = a / A_j and q = k / Z_j, and e = q ∂f/∂q, dL/d log k_ij = e_ij - q_ij Σ_l e_lj. Times d log k / ds
    it is the weight of s_ij = ||h_i - h_j||², whose gradient is 2 (h_i - h_j) for h_i and the opposite for h_j.
    """
    batch = Batch(bias, features, y, settings)
    pairs = _list_pairs(batch)
    if pairs is None:
        return None
    ends, n = pairs.ravel(), batch.n
    apart = _Differences(batch.h, pairs)
    k, log_slope = batch.similarity.with_log_slope(apart.squared())
    a = 1 - batch.similarity.of(_Differences(batch.b, pairs).squared())
    a_and_k = np.maximum((a, k), TINY)[:, None]
    # A row's sum of both: what each pair brings to its two rows, counted in two ranges of rows.
    sums = np.bincount(np.concatenate((ends, ends + n)), a_and_k.repeat(2, 1).ravel(), 2 * n).reshape(2, n)
    p, q = a_and_k / (sums[:, pairs] + ROW_EPS)  # (2, U) each: of pair and row
    terms, e = pointwise(p, q, settings.divergence)
    weights = (e - q * np.bincount(ends, e.ravel(), n)[pairs]).sum(0) * (2 * log_slope)
    class_i, class_j = y[pairs]
    kinds = np.bincount((pairs + n * (class_i == class_j)).ravel(), minlength=2 * n)
    different, same = kinds[:n], kinds[n:]  # (N,) partners of another and of the same class
    mixed, single = np.count_nonzero(different * same), np.count_nonzero(different + same == 1)
    return batch.result(terms.sum(), apart.gradient(weights), pairs.size, mixed, single)


def _list_pairs(batch: Batch) -> Indices | None:
    """(2, U): the pairs i < j in S, unless they are too many."""
    budget = min(WORTH * batch.n**2 // (batch.b.rows.shape[1] + batch.h.rows.shape[1]), MOST)
    found, y = [], _in_bytes(batch.y)
    for rows in batch.tiles:
        same_class = y[rows, None] == y[rows.start :]
        mask = in_s(batch.b.tile(rows, first=rows.start), same_class, batch.limits, batch.settings.pairs)
        flat = np.flatnonzero(mask)
        budget -= len(flat) // 2
        if budget < 0:
            return None
        pairs = np.array(np.divmod(flat, mask.shape[1]))
        found.append(pairs[:, pairs[0] < pairs[1]] + rows.start)
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

    def gradient(self, weights: Floats) -> Floats:
        """(U,) → (N, D) gradient of Σ weights · s / 2."""
        gradient: Floats = np.zeros_like(self.points.rows)
        weights = weights.astype(gradient.dtype)
        i, j = self.pairs
        if len(gradient) * len(i) <= SMALL and self._kept is not None and len(i) <= CHUNK:
            ends: Floats = np.zeros((len(gradient), len(i)), gradient.dtype)
            each = np.arange(len(i))
            ends[i, each] = weights
            ends[j, each] = -weights
            # Not numpy's product: its threads would fight torch's. With `out` autocast leaves it alone.
            mm(from_numpy(ends), from_numpy(self._kept), out=from_numpy(gradient))
            return gradient
        for part, difference in self:
            pull = difference * weights[part, None]
            rows, pulls = self.pairs[:, part].ravel(), np.concatenate([pull, -pull])
            from_numpy(gradient).index_add_(0, from_numpy(rows), from_numpy(pulls))
        return gradient
