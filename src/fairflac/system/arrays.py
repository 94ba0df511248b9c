"""Arrays out of npy and npz files, of which nothing is ever unpickled."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairflac.errors import UserError

Array = NDArray[Any]


def read_array(path: Path) -> Array:
    """Of a npy file. Whatever is wrong with it is a ValueError that says what; so with the others here."""
    with _or_value_error(), path.open("rb") as stream:
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        return array


def read_arrays(path: Path, *names: str) -> list[Array]:
    """Those of an npz file with these names."""
    # Opened here, as numpy forgets to close what it cannot read.
    with _or_value_error(), path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return [stored[name] for name in names]


def read_all(path: Path) -> dict[str, Array]:
    """All of an npz file, by name."""
    with _or_value_error(), path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def read_columns(path: Path, names: Sequence[str], advice: str) -> list[Array]:
    """Arrays of equal length in an npz file; if it is damaged, one line that ends with `advice`."""
    try:
        columns = read_arrays(path, *names)
        if len({column.shape[:1] for column in columns}) > 1:
            raise ValueError("its columns do not go together")
    except ValueError as error:
        raise UserError(f"'{path}' is damaged: {advice}") from error
    return columns


@contextmanager
def _or_value_error() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # numpy, zipfile and zlib raise nearly anything on damaged files
        raise ValueError(str(error) or "it ends too early") from error
