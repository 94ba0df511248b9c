"""Files that are either whole or absent: written beside their place, synced, then renamed, and the folder synced too.

Arrays are read out of npy and npz files without unpickling anything. numpy is imported only then.
"""

import errno
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fairflac.errors import UserError
from fairflac.system.progress import tell_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


MOST_PACKED, SMALL_ENOUGH = 100, 100_000_000  # times smaller, of more than so many bytes: such a file is a bomb


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of `path` once the block ends without an error.

    From then on it is there whatever happens, a failure of power included: files hold in the order they were written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    handle, temporary = _temporary(path)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that only their owner can read
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say which file it was
        raise


TEMPORARY = "????????"  # how names of `mkstemp` end
ABANDONED = 86400.0  # seconds since a temporary file was written to: where nothing can be locked, its process is gone


def _temporary(path: Path) -> tuple[int, str]:
    """Locked as long as it is open, which tells it from one that a killed process left."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        if not _locked(handle, wait=True) or os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # swept up before it was locked


def _sweep(path: Path) -> None:
    """Remove what killed processes left of earlier attempts to write this file."""
    for leftover in path.parent.glob(f".{escape(path.name)}.{TEMPORARY}"):
        with suppress(OSError), leftover.open("r+b") as stream:
            locked = _locked(stream.fileno(), wait=False)
            if locked or (locked is None and time.time() - leftover.stat().st_mtime > ABANDONED):
                leftover.unlink()


def _locked(handle: int, *, wait: bool) -> bool | None:
    """False: another process has it; None: there are no such locks here."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def sync_folder(folder: Path) -> None:
    """The names in it hold from now on. Systems that cannot do this for a folder do it by themselves."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


WAITS = 10.0  # seconds, before one who waits says so


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Others wait, in all processes. The system frees the lock of a process that dies."""
    from filelock import FileLock, Timeout

    file = FileLock(lock)
    try:
        file.acquire(timeout=WAITS)
    except Timeout:
        tell_once(f"waiting for another process, which holds '{lock}'; if there is none, remove that file")
        file.acquire()
    try:
        yield
    finally:
        file.release()


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


def visible_files(folder: Path) -> Iterator[Path]:
    """Every file at any depth, in the order of names; what is hidden is passed over."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def read_array(path: Path) -> "Array":
    """Of a npy file. Whatever is wrong with it is a ValueError that says what; so with the others here."""
    import numpy as np

    with _or_value_error(), path.open("rb") as stream:
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        return array


def read_mapped(path: Path) -> "Array":
    """The same without reading it: its rows come from the file when they are looked at. Writing changes memory only."""
    import numpy as np

    with _or_value_error():
        return np.load(path, mmap_mode="c", allow_pickle=False)  # type: ignore[no-any-return]


def read_arrays(path: Path, *names: str) -> "list[Array]":
    """Those of an npz file with these names."""
    import numpy as np

    with _or_value_error(), _unpacked(path) as stream, np.load(stream, allow_pickle=False) as stored:
        return [stored[name] for name in names]


def read_all(path: Path) -> "dict[str, Array]":
    """All of an npz file, by name."""
    import numpy as np

    with _or_value_error(), _unpacked(path) as stream, np.load(stream, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


WHOLE_NUMBERS, BYTES, FLAGS, TEXTS = "bBhHiIlLqQ", "B", "?", "U"  # kinds of a column, in numpy's letters


def read_columns(path: Path, columns: Mapping[str, tuple[int, str]], advice: str) -> "list[Array]":
    """Arrays of equal length in an npz file, each with so many dimensions and of such a kind; if it is damaged, one
    line that ends with `advice`."""
    try:
        found = read_arrays(path, *columns)
        fit = all(
            one.ndim == dimensions and one.dtype.char in kind
            for one, (dimensions, kind) in zip(found, columns.values(), strict=True)
        )
        if not fit or len({len(one) for one in found}) > 1:
            raise ValueError("its columns do not go together")
    except ValueError as error:
        raise UserError(f"'{path}' is damaged: {advice}") from error
    return found


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    """An archive that does not unpack to a multiple of its size. numpy forgets to close what it cannot read."""
    with path.open("rb") as stream:
        with zipfile.ZipFile(stream) as archive:
            inside = sum(member.file_size for member in archive.infolist())
        if inside > SMALL_ENOUGH and inside > MOST_PACKED * path.stat().st_size:
            raise ValueError(f"it would unpack to {inside / 1e9:.1f} GB")
        stream.seek(0)
        yield stream


@contextmanager
def _or_value_error() -> Iterator[None]:
    import numpy as np

    try:
        with np.errstate(all="ignore"):  # of a size that is no number of bytes
            yield
    except Exception as error:  # numpy, zipfile and zlib raise nearly anything on damaged files
        raise ValueError(str(error) or "it ends too early") from error
