"""Image files, and images inside of other files: their bytes, and all of a list decoded in threads."""

import hashlib
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairflac.data.pixels.decode import Fit, Unreadable, decode
from fairflac.data.pixels.rows import ImageRow, RowReader, image_row
from fairflac.data.pixels.tars import tar_bytes

AHEAD = 256  # images that are decoded before they are asked for


@dataclass(frozen=True)
class Decoded:
    """One image."""

    digest: str  # of the bytes of its file
    pixels: np.ndarray  # (H, W, 3) uint8


def decoded(content: bytes, size: tuple[int, int], fit: Fit) -> Decoded:
    return Decoded(hashlib.sha256(content).hexdigest()[:16], decode(content, size, fit))


def decode_files(paths: Iterable[Path], size: tuple[int, int], fit: Fit) -> Iterator[Decoded | Unreadable]:
    """One for each file, in order, some of them decoded ahead: memory does not grow with the number of files.

    Threads are enough: Pillow lets go of the interpreter while it decodes. Rows of a table are read one after the
    other, as they lie, and decoded in threads like files. Whatever lies in a tar file is read in threads.
    """
    image_bytes = ImageBytes()

    def one(source: Path | bytes | Unreadable) -> Decoded | Unreadable:
        if isinstance(source, Unreadable):
            return source
        try:
            return decoded(image_bytes(source) if isinstance(source, Path) else source, size, fit)
        except Unreadable as error:
            return error

    pending: deque[Future[Decoded | Unreadable]] = deque()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for path in paths:
            in_turn = isinstance(image_row(path), ImageRow)
            pending.append(pool.submit(one, image_bytes.or_why(path) if in_turn else path))
            if len(pending) > AHEAD:
                yield pending.popleft().result()
        yield from (image.result() for image in pending)


class ImageBytes:
    """What is stored of an image: in a file, in the row of a table or in a tar file. Threads may share it."""

    def __init__(self) -> None:
        self.rows = RowReader()

    def __call__(self, path: Path) -> bytes:
        row = image_row(path)
        if row is None:
            return file_bytes(path)
        return self.rows(row) if isinstance(row, ImageRow) else tar_bytes(row)

    def or_why(self, path: Path) -> bytes | Unreadable:
        try:
            return self(path)
        except Unreadable as error:
            return error


def file_bytes(path: Path) -> bytes:
    """What a file holds. Pipes and devices are none: reading them may never end."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise Unreadable("a folder, not a file" if stat.S_ISDIR(mode) else "not a file")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from error
