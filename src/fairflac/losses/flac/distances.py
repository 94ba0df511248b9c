"""Squared distances between the rows of a batch, one tile of rows at a time."""

import math
from functools import cached_property

from fairflac.losses.flac.arrays import Array, as_tensor, row_products
from fairflac.losses.flac.kernels import Kernel

# Elements of a tile: small enough for the cache, large enough for the matrix product. Few rows would starve the latter.
TILE = 2**20
MIN_ROWS = 32
# Rows from which on a batch has four tiles at least: their parts above the diagonal are five eighths of the whole.
SEVERAL = 512


def row_tiles(n: int) -> list[slice]:
    """Cut n rows into tiles of about `TILE` distances each."""
    height = max(TILE // n, MIN_ROWS)
    if n >= SEVERAL:
        height = min(height, -(-n // 4))
    return [slice(start, min(start + height, n)) for start in range(0, n, height)]


class Points:
    """(N, D) features as points, on the unit sphere if wanted, whose distances are asked for.

    The cosine kernel needs unit rows, for which cos = 1 - s / 2. A zero row has cos 0 with all rows, itself included:
    it counts as a unit row in a direction of its own, `lift`.
    """

    def __init__(self, features: Array, kernel: Kernel, normalize: bool) -> None:
        self.rows = features
        self.squares = row_products(features, features)  # (N,)
        self.lengths: Array | None = None  # (N, 1)
        self.lift: Array | None = None  # (N,), 1 for a zero row
        if normalize or kernel == "cosine":
            zero = self.squares == 0
            self.lengths = (self.squares**0.5 + zero)[:, None]  # a zero row stays what it is
            self.rows = features / self.lengths
            self.lift = self.lengths[:, 0] * zero if kernel == "cosine" else None
        self._kept: dict[tuple[int, int], Array] = {}

    @cached_property
    def centred(self) -> Array:
        """Distances do not change when all rows move together; the expansion in `tile` then loses fewer digits."""
        return self.rows - self.rows.sum(0) / self.rows.shape[0]

    @cached_property
    def norms(self) -> Array:
        """(N,) squared lengths of the centred rows."""
        norms = row_products(self.centred, self.centred)
        return norms if self.lift is None else norms + self.lift

    def tile(self, rows: slice, first: int = 0) -> Array:
        """(T, N - first) squared distances of `rows` to all rows from `first`; up to `TILE` of the last are kept.

        By rounding they can be slightly negative.
        """
        key = (rows.start, first)
        if key not in self._kept:
            size = (rows.stop - rows.start) * (len(self.rows) - first)
            if size + sum(math.prod(kept.shape) for kept in self._kept.values()) > TILE:
                self._kept.clear()
            squared = self.norms[rows, None] + self.norms[first:]
            left, right = as_tensor(self.centred[rows]), as_tensor(self.centred[first:])
            as_tensor(squared).addmm_(left, right.T, alpha=-2)
            self._kept[key] = squared
        return self._kept[key]

    def gradient_in_features(self, of_rows: Array, divisor: Array) -> Array:
        """From the gradient in `rows`, which is overwritten, to that in the features, divided by `divisor`.

        What points along a row leaves its direction alone.
        """
        if self.lengths is None:
            of_rows /= divisor
        else:
            of_rows -= self.rows * row_products(self.rows, of_rows)[:, None]
            of_rows /= self.lengths * divisor
        return of_rows
