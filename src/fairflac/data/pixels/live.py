"""Images that stay in their files, decoded by threads whenever they are needed: for sets whose pixels fit nowhere.

Threads, not processes: Pillow lets go of the interpreter while it decodes, and nothing has to be sent from one process
to another. `benchmarks/data.py` measures both.
"""

import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairflac.data.pixels.decode import Fit, Unreadable
from fairflac.data.pixels.files import ImageBytes, decoded
from fairflac.data.pixels.stored import Pixels, StoredImages
from fairflac.errors import UserError

Decode = Literal["once", "live"]
# Bytes of pixels that are kept, in a file: fast as long as the system has it in memory, which other programs want too.
# 550,000 images for a network that sees 64 x 64 pixels, 45,000 for one that sees 224 x 224.
KEPT = 8 << 30

BATCH = 64  # images that are read at once where nobody says how many
AHEAD = 2  # batches that are decoded while another is at work
TASK = 8  # images that a thread decodes at a time
AGAIN = "put it back as it was, and give the same command again"


def stays_live(decode: Decode | None, count: int, size: tuple[int, int]) -> bool:
    """Are so many images of a size decoded whenever they are needed? As the user says, else if they take too much."""
    return count * size[0] * size[1] * 3 > KEPT if decode is None else decode == "live"


@dataclass(frozen=True, eq=False)
class LiveImages(StoredImages):
    """In files that are decoded whenever an image is needed."""

    folder: Path
    names: Sequence[str]  # relative to `folder`
    digests: np.ndarray  # uint64, of the bytes of each file: another content is an error
    size: tuple[int, int]  # that files are decoded to
    fit: Fit
    image_bytes: ImageBytes

    @classmethod
    def of(
        cls, folder: Path, names: Sequence[str], digests: np.ndarray, size: tuple[int, int], fit: Fit
    ) -> "LiveImages":
        rows = np.arange(len(names))
        return cls(rows, range(size[0]), range(size[1]), folder, names, digests, size, fit, ImageBytes())

    @property
    def identity(self) -> bytes:
        """Another one for other pixels, known without decoding any."""
        contents: bytes = self.digests[self.rows].tobytes()
        return f"{self.size} {self.fit} {self.down} {self.across} ".encode() + contents

    def __iter__(self) -> Iterator[np.ndarray]:
        for part in read_ahead(self, batches_of(len(self), BATCH)):
            yield from part

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray:
        pixels = np.empty(self.shape, np.uint8)
        parts = batches_of(len(self), BATCH)
        for rows, part in zip(parts, read_ahead(self, parts), strict=True):
            pixels[rows] = part
        return pixels if dtype is None else pixels.astype(dtype)

    def begin(self, rows: np.ndarray, pool: Executor) -> "Decoding":
        """Start to decode those at these positions."""
        pixels = np.empty((len(rows), *self.shape[1:]), np.uint8)
        starts = range(0, len(rows), TASK)
        tasks = [pool.submit(self._decode, rows[at : at + TASK], pixels[at : at + TASK]) for at in starts]
        return Decoding(pixels, tasks)

    def _decode(self, rows: np.ndarray, pixels: np.ndarray) -> None:
        for place, row in enumerate(self.rows[rows].tolist()):
            pixels[place] = self._one(row)

    def _one(self, row: int) -> np.ndarray:
        path = self.folder / self.names[row]
        try:
            image = decoded(self.image_bytes(path), self.size, self.fit)
        except Unreadable as error:
            raise UserError(f"'{path}' can no longer be read ({error}): {AGAIN}") from error
        if int(image.digest, 16) != int(self.digests[row]):
            raise UserError(f"'{path}' was changed while it was in use: {AGAIN}")
        pixels: np.ndarray = image.pixels[self.down.start : self.down.stop, self.across.start : self.across.stop]
        return pixels


@dataclass(frozen=True)
class Decoding:
    """A batch that threads are decoding."""

    pixels: np.ndarray
    tasks: list[Future[None]]

    def result(self) -> np.ndarray:
        for task in self.tasks:
            task.result()
        return self.pixels


def read_ahead(images: Pixels, batches: Iterable[np.ndarray]) -> Generator[np.ndarray]:
    """The pixels of one batch of rows after the other; live images are decoded while earlier batches are at work.

    At most `AHEAD` batches wait in memory. The threads end with the last batch, or when the generator is closed.
    """
    if not isinstance(images, LiveImages):
        yield from (np.asarray(images[rows]) for rows in batches)
        return
    coming: deque[Decoding] = deque()
    pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="decode")
    try:
        for rows in batches:
            coming.append(images.begin(rows, pool))
            if len(coming) > AHEAD:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def batches_of(count: int, size: int) -> list[np.ndarray]:
    """Positions from 0 on, in their order."""
    return [np.arange(start, min(start + size, count)) for start in range(0, count, size)]


def bytes_of(images: Pixels) -> Iterator[bytes | memoryview]:
    """What tells these images from others, a part at a time; cheap for those that are live."""
    if isinstance(images, LiveImages):
        yield images.identity
        return
    for start in range(0, len(images), BATCH):
        yield np.ascontiguousarray(images[start : start + BATCH]).data
