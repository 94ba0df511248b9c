"""Built and ready-made sets of corrupted images, one npz each."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairflac.arrays import read_arrays
from fairflac.errors import UserError
from fairflac.files import replacing


class CorruptedSet(NamedTuple):
    """One split, with where it comes from."""

    images: NDArray[np.uint8]  # (N, 32, 32, 3)
    y: NDArray[np.int64]  # (N,)
    corruption: NDArray[np.int64]  # (N,)
    names: NDArray[np.str_]  # (N,)
    origin: str

    def chosen(self, index: NDArray[np.int64]) -> "CorruptedSet":
        return CorruptedSet(self.images[index], self.y[index], self.corruption[index], self.names[index], self.origin)

    def describe(self) -> str:
        conflicting = int((self.y != self.corruption).sum())
        return f"{len(self.y)} images, {conflicting} of them conflict with their corruption, {self.origin}"


def write_set(path: Path, content: CorruptedSet) -> None:
    with replacing(path) as stream:
        np.savez(stream, **content._asdict())


def read_set(path: Path) -> CorruptedSet:
    try:
        images, y, corruption, names, origin = read_arrays(path, *CorruptedSet._fields)
        if not len(images) == len(y) == len(corruption) == len(names):
            raise ValueError("its columns do not go together")
    except ValueError as error:
        raise UserError(f"'{path}' is damaged ({error}): delete it, and it is built again") from error
    return CorruptedSet(images, y, corruption, names, str(origin))


def origin_of(path: Path) -> str | None:
    """Where a stored set comes from, without reading its images; None if there is no such set, or a damaged one."""
    try:
        return str(read_arrays(path, "origin")[0])
    except ValueError:
        return None
