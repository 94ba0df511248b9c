"""Files that are either whole or absent: written beside their place, synced, then renamed."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from fairflac.errors import UserError


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of `path` once the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that only their owner can read
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say which file it was
        raise


def check_writable(path: Path) -> None:
    """An OSError now, and not after the work whose result goes there."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path`, whole or not at all."""
    with replacing(path) as stream:
        stream.write(text.encode(errors="backslashreplace"))  # names of files may hold what is no UTF-8


def writable(folder: Path) -> bool:
    """Could files be made in it? The folder itself need not be there yet."""
    nearest = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def check_folder(folder: Path) -> None:
    """Before the work whose results go there; nothing is made yet."""
    if not writable(folder):
        raise UserError(f"nothing can be written to '{folder}': choose another folder")


def data_root() -> Path:
    """A folder in the user's cache, unless FAIRFLAC_DATA says otherwise."""
    return Path(os.environ.get("FAIRFLAC_DATA", Path.home() / ".cache" / "fairflac"))
