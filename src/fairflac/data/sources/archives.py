"""What a user has downloaded, a folder or an archive, seen as files with names."""

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

from fairflac.errors import UserError, describe_os_error

# Names begin with that of the folder or archive itself, which often says what is inside.
Files = dict[PurePosixPath, Callable[[], bytes]]


@contextmanager
def opened(source: Path) -> Iterator[Files]:
    """All files of a folder, a tar (plain or compressed) or a zip; hidden ones do not count."""
    if not source.exists():
        raise UserError(f"there is no '{source}': give the folder or the archive that you have")
    try:
        if source.is_dir():
            yield _visible(source, {path.relative_to(source): path.read_bytes for path in _walk(source)})
        elif tarfile.is_tarfile(source):
            with tarfile.open(source) as tar:
                yield _visible(source, {Path(m.name): partial(_from_tar, tar, m) for m in tar if m.isfile()})
        elif zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as archive:
                entries = (info for info in archive.infolist() if not info.is_dir())
                yield _visible(source, {Path(info.filename): partial(archive.read, info) for info in entries})
        else:
            raise UserError(f"'{source}' is no folder, tar or zip: give the folder or the archive that you have")
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise UserError(f"'{source}' is damaged ({error}): fetch it again") from error


def _walk(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _visible(source: Path, files: dict[Path, Callable[[], bytes]]) -> Files:
    top = source.resolve().name
    return {PurePosixPath(top, *path.parts): read for path, read in files.items() if not path.name.startswith(".")}


def _from_tar(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = tar.extractfile(member)
    assert stream is not None  # a regular file has content
    return stream.read()


def link_folders(source: Path, target: Path, names: Iterable[str]) -> int:
    """Make `target/NAME` a link to `source/NAME`, if `source` has it; how many are linked now.

    A link that is there is renewed, a folder that is there is left as it is: it may be the only copy.
    """
    linked = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            place, home = target / name, (source / name).resolve()
            if not home.is_dir() or (place.exists() and not place.is_symlink()):
                continue
            place.unlink(missing_ok=True)
            place.symlink_to(home, target_is_directory=True)
            linked += 1
    except OSError as error:
        raise UserError(describe_os_error(error)) from error
    return linked
