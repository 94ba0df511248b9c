"""Images that are on disk: some of them, or a part of each, are chosen without reading any."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, overload

import numpy as np


@dataclass(frozen=True, eq=False)
class StoredImages(ABC):
    """Stands in for an array (N, H, W, 3) uint8, and holds no pixels.

    Some of its rows, or parts of each image, are of the same kind. `images[0]` and `np.asarray(images)` are read.
    """

    rows: np.ndarray  # (N,) positions in the store
    down: range  # the part of each image that is seen
    across: range

    ndim = 4
    dtype = np.dtype(np.uint8)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return len(self.rows), len(self.down), len(self.across), 3

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, key: int | np.integer) -> np.ndarray: ...

    @overload
    def __getitem__(self, key: slice | np.ndarray | list[int] | tuple[Any, ...]) -> Self: ...

    def __getitem__(
        self, key: int | np.integer | slice | np.ndarray | list[int] | tuple[Any, ...]
    ) -> np.ndarray | Self:
        if isinstance(key, tuple):  # the same part of each: `images[..., top:bottom, left:right, :]`
            everything, down, across, colours = key
            if everything is not ... or colours != slice(None):
                raise IndexError(f"images that are not read have no {key}")
            return replace(self, down=self.down[down], across=self.across[across])
        if isinstance(key, int | np.integer):
            return self._one(int(self.rows[key]))
        return replace(self, rows=self.rows[key])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[place] for place in range(len(self)))

    @abstractmethod
    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray:
        """All of them, read."""

    @abstractmethod
    def _one(self, row: int) -> np.ndarray:
        """The part of an image of the store that is seen."""


@dataclass(frozen=True, eq=False)
class MappedImages(StoredImages):
    """In an array that is mapped from a file, whose pages the system takes back when it needs memory."""

    whole: np.ndarray  # (M, H, W, 3)

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray:
        part = self.whole[:, self.down.start : self.down.stop, self.across.start : self.across.stop]
        pixels: np.ndarray = part[self.rows].view(np.ndarray)
        return pixels if dtype is None else pixels.astype(dtype)

    def _one(self, row: int) -> np.ndarray:
        return self.whole[row, self.down.start : self.down.stop, self.across.start : self.across.stop].view(np.ndarray)


Pixels = np.ndarray | StoredImages  # (N, H, W, 3) uint8


def rows_of(images: Pixels, rows: np.ndarray) -> Pixels:
    """Those at these positions: of a mapped file none is read, of an array in memory they are a copy."""
    if isinstance(images, np.memmap) and images.ndim == 4:
        return MappedImages(rows, range(images.shape[1]), range(images.shape[2]), images)
    return images[rows]
