"""Images decoded once, in parallel, into a memory-mapped file that all later runs share."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock

from fairflac.data.decode import Fit, Unreadable, decode
from fairflac.errors import UserError
from fairflac.files import replacing, write_text
from fairflac.progress import meter

FORMAT = 1  # raised when the same files would be decoded otherwise
NAMED = 3  # broken images that a message names


@dataclass(frozen=True)
class Images:
    """Those of the files that could be read, in the order of the files."""

    pixels: np.ndarray  # (N, H, W, 3) uint8, memory-mapped
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
    label: str = "images",
    silent: bool = False,
) -> Images:
    """All images in one size. A file that changed, came or went makes a new cache; two processes make it once.

    Images that cannot be read are named, counted and left out, or with `strict` an error.
    """
    key = _key(folder, names, size, fit)
    pixels, index = cache / f"{key}.npy", cache / f"{key}.json"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{key}.lock"):
        if not (pixels.exists() and index.exists()):
            _build(folder, names, size, fit, pixels, index, label, silent)
    stored = json.loads(index.read_text())
    broken: dict[str, str] = stored["broken"]
    if broken and strict:
        raise UserError(f"{_broken_line(broken, len(names), folder)}: mend or remove them, or do without --strict")
    kept = np.array([i for i, name in enumerate(names) if name not in broken], dtype=np.int64)
    digests = np.array([int(digest, 16) for digest in stored["digests"]], dtype=np.uint64)
    # Copy-on-write: the file stays as it is, and torch takes no array that cannot be written to.
    return Images(np.load(pixels, mmap_mode="c"), kept, digests, broken)


def prove_images(folder: Path, names: Sequence[str], *, label: str) -> None:
    """Decode every image and keep none; an error names those that cannot be read."""
    with meter(f"checking {label}", len(names)) as bar:
        broken = {}
        for name, found in _decoded(folder, names, (8, 8), "squash"):
            if isinstance(found, Unreadable):
                broken[name] = str(found)
            bar.advance()
    if broken:
        raise UserError(f"{_broken_line(broken, len(names), folder)}: put them in place again with 'fairflac data get'")


def _key(folder: Path, names: Sequence[str], size: tuple[int, int], fit: Fit) -> str:
    """Of place, names, sizes and times of the files, so that looking does not mean reading them all."""
    digest = hashlib.sha256(json.dumps([FORMAT, str(folder.resolve()), size, fit]).encode())
    for name in names:
        try:
            stat = (folder / name).stat()
        except OSError:
            continue  # will be found broken; when it comes back the key changes
        digest.update(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()[:20]


def _build(
    folder: Path, names: Sequence[str], size: tuple[int, int], fit: Fit, pixels: Path, index: Path, label: str,
    silent: bool,
) -> None:  # fmt: skip
    digests: list[str] = []
    broken: dict[str, str] = {}
    with meter(f"reading {label}", len(names), silent=silent) as bar, replacing(pixels) as stream:
        header = {"descr": "|u1", "fortran_order": False, "shape": (len(names), *size, 3)}
        np.lib.format.write_array_header_1_0(stream, header)
        for name, found in _decoded(folder, names, size, fit):
            if isinstance(found, Unreadable):
                broken[name] = str(found)
            else:
                digest, image = found
                digests.append(digest)
                stream.write(image.tobytes())
            bar.advance()
        if broken:  # fewer images than announced; the header keeps its length
            end = stream.tell()
            stream.seek(0)
            np.lib.format.write_array_header_1_0(stream, {**header, "shape": (len(digests), *size, 3)})
            stream.seek(end)
            bar.say(_broken_line(broken, len(names), folder))
    write_text(index, json.dumps({"digests": digests, "broken": broken}))


def _decoded(
    folder: Path, names: Sequence[str], size: tuple[int, int], fit: Fit
) -> Iterator[tuple[str, tuple[str, np.ndarray] | Unreadable]]:
    """In order. Threads are enough: Pillow lets go of the interpreter while it decodes."""

    def one(name: str) -> tuple[str, tuple[str, np.ndarray] | Unreadable]:
        try:
            content = (folder / name).read_bytes()
            return name, (hashlib.sha256(content).hexdigest()[:16], decode(content, size, fit))
        except Unreadable as error:
            return name, error
        except OSError as error:
            return name, Unreadable(error.strerror or str(error))

    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        for start in range(0, len(names), 64 * workers):  # in parts, or all images would wait in memory
            yield from pool.map(one, names[start : start + 64 * workers])


def _broken_line(broken: dict[str, str], total: int, folder: Path) -> str:
    some = ", ".join(f"'{name}' ({why})" for name, why in list(broken.items())[:NAMED])
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    return f"{len(broken)} of {total} files in '{folder}' cannot be read as images and are left out: {some}{more}"
