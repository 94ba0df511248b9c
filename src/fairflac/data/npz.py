"""Arrays out of npz files, of which nothing is ever unpickled."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_arrays(path: Path, *names: str) -> list[NDArray[Any]]:
    """The arrays with these names. Whatever is wrong with the file is a ValueError that says what."""
    try:
        # Opened here, as numpy forgets to close what it cannot read.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return [stored[name] for name in names]
    except (OSError, EOFError, KeyError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(str(error) or "it ends too early") from error
