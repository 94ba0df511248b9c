"""Images decoded once, in parallel, into a memory-mapped file that all later runs share; of live ones only an index."""

import functools
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from fairflac.data.pixels.decode import Fit, Unreadable
from fairflac.data.pixels.files import decode_files
from fairflac.data.pixels.live import LiveImages
from fairflac.data.pixels.rows import image_row
from fairflac.data.pixels.stored import Pixels, rows_of
from fairflac.errors import UserError
from fairflac.system.files import one_at_a_time, replacing, write_text
from fairflac.system.parse import parse_json
from fairflac.system.progress import meter, tell_once

FORMAT = 3  # raised when the same files would be decoded or stored otherwise
NAMED = 3  # images that a message names


@dataclass(frozen=True)
class Images:
    """Those of the files that could be read, in the order of the list; a file that is listed twice is there twice."""

    pixels: Pixels  # (N, H, W, 3) uint8; an array is memory-mapped
    kept: np.ndarray  # (N,) int64, positions in the list of files
    digests: np.ndarray  # (N,) uint64 of the files' bytes: equal for copies
    broken: dict[str, str]  # name → why it cannot be read


def read_images(
    folder: Path,
    names: Sequence[str],  # relative to `folder`
    size: tuple[int, int],  # height and width
    cache: Path,  # a folder for caches
    *,
    fit: Fit = "cover",
    strict: bool = False,
    live: bool = False,
    label: str = "images",
    silent: bool = False,
    warn: Callable[[str], None] = tell_once,
) -> Images:
    """All images in one size. A file that changed, came or went makes a new cache; two processes make it once.

    Images that cannot be read are named, counted and left out, or with `strict` an error. Those that stay `live` are
    all decoded once too, but no pixels are kept: what is left out, and every split, is the same.
    """
    files = list(dict.fromkeys(names))
    stored = _stored(folder, files, size, fit, cache, live, label, silent)
    if stored.broken:
        line = _broken_line(stored.broken, len(files), folder)
        if strict:
            raise UserError(f"{line}: mend or remove them, or leave out strict")
        if not silent:
            warn(f"{line}; left out")
    # By name, never by position: the list and the cache may differ in what is missing, broken or repeated.
    readable = [file for file in files if file not in stored.broken]
    row = {file: number for number, file in enumerate(readable)}
    kept = np.array([i for i, name in enumerate(names) if name in row], dtype=np.int64)
    rows = np.array([row[names[i]] for i in kept], dtype=np.int64)
    pixels = stored.pixels if len(rows) == len(readable) else rows_of(stored.pixels, rows)
    return Images(pixels, kept, stored.digests[rows], stored.broken)


@dataclass(frozen=True)
class _Stored:
    """A cache of distinct files: pixels and digests of those that can be read, in order, and the others."""

    pixels: Pixels
    digests: np.ndarray
    broken: dict[str, str]


def _stored(
    folder: Path, files: list[str], size: tuple[int, int], fit: Fit, cache: Path, live: bool, label: str, silent: bool
) -> _Stored:
    """From disk, or made now if there is none that fits."""
    key = _key(folder, files, size, fit)
    pixels, index = cache / f"{key[:20]}.npy", cache / f"{key[:20]}.json"
    cache.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache / f"{key[:20]}.lock"):
        found = _load(pixels, index, key, files, size, live)
        if found is None:
            index.unlink(missing_ok=True)
            _build(folder, files, size, fit, None if live else pixels, index, key, label, silent)
            found = _load(pixels, index, key, files, size, live)
    if found is None:
        raise UserError(f"'{index if live else pixels}' cannot be read back after it was written: is the disk sound?")
    if not live:
        return found
    readable = [file for file in files if file not in found.broken]
    return replace(found, pixels=LiveImages.of(folder, readable, found.digests, size, fit))


def _load(pixels: Path, index: Path, key: str, files: list[str], size: tuple[int, int], live: bool) -> _Stored | None:
    """None: there is no cache, or it is damaged, or of other files. If `live`, without pixels."""
    images = np.zeros((0, *size, 3), np.uint8)
    try:
        record = parse_json(index.read_text())
        broken: dict[str, str] = record["broken"]
        digests = np.array([int(digest, 16) for digest in record["digests"]], dtype=np.uint64)
        if len(digests) and not live:
            # Copy-on-write: the file stays as it is, and torch takes no array that cannot be written to.
            images = np.load(pixels, mmap_mode="c")
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    same = record["key"] == key and len(digests) + len(broken) == len(files) and broken.keys() <= set(files)
    fits = live or (images.shape == (len(digests), *size, 3) and images.dtype == np.uint8)
    return _Stored(images, digests, broken) if same and fits else None


def check_images(folder: Path, names: Sequence[str], *, label: str) -> None:
    """Decode every image and keep none; an error names those that cannot be read."""
    with meter(f"checking {label}", len(names)) as bar:
        broken = {}
        decoded = decode_files((folder / name for name in names), (8, 8), "squash")
        for name, found in zip(names, decoded, strict=True):
            if isinstance(found, Unreadable):
                broken[name] = str(found)
            bar.advance()
    if broken:
        raise UserError(f"{_broken_line(broken, len(names), folder)}: put them in place again with 'fairflac data get'")


def _key(folder: Path, files: Sequence[str], size: tuple[int, int], fit: Fit) -> str:
    """Of place, names, sizes and times of the files, so that looking does not mean reading them all.

    Every name counts, also that of a file which is not there.
    """
    digest = hashlib.sha256(json.dumps([FORMAT, str(folder.resolve()), size, fit]).encode())
    state_of = functools.cache(lambda file: _state(folder / file))  # a file with many images in it is looked at once
    for name in files:
        row = image_row(name)
        state = _state(folder / name) if row is None else state_of(row.file)
        digest.update(f"{name}\0{state}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _state(path: Path) -> str:
    try:
        found = path.stat()
        return f"{found.st_size}\0{found.st_mtime_ns}"
    except (OSError, ValueError):
        return "missing"


def _build(
    folder: Path, files: Sequence[str], size: tuple[int, int], fit: Fit, pixels: Path | None, index: Path, key: str,
    label: str, silent: bool,
) -> None:  # fmt: skip
    """Decode all files. Pixels go to a file, if there is to be one, and what is known of each into the index."""
    digests: list[str] = []
    broken: dict[str, str] = {}
    doing = "checking" if pixels is None else "reading"
    with meter(f"{doing} {label}", len(files), silent=silent) as bar, _stream(pixels) as stream:
        header = {"descr": "|u1", "fortran_order": False, "shape": (len(files), *size, 3)}
        np.lib.format.write_array_header_1_0(stream, header)
        for name, found in zip(files, decode_files((folder / name for name in files), size, fit), strict=True):
            if isinstance(found, Unreadable):
                broken[name] = str(found)
            else:
                digests.append(found.digest)
                stream.write(found.pixels.tobytes())
            bar.advance()
        if broken:  # fewer images than announced; the header keeps its length
            end = stream.tell()
            stream.seek(0)
            np.lib.format.write_array_header_1_0(stream, {**header, "shape": (len(digests), *size, 3)})
            stream.seek(end)
    write_text(index, json.dumps({"key": key, "digests": digests, "broken": broken}))


def _stream(path: Path | None) -> AbstractContextManager[IO[bytes]]:
    """To a file, or to nowhere."""
    return replacing(path) if path is not None else open(os.devnull, "wb")


def _broken_line(broken: dict[str, str], total: int, folder: Path) -> str:
    some = ", ".join(f"'{name}' ({why})" for name, why in list(broken.items())[:NAMED])
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    return f"{len(broken)} of {total} files in '{folder}' cannot be read as images: {some}{more}"
