"""Image files → names of classes, however many files there are."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from fairflac.data.cache import file_bytes
from fairflac.data.decode import Unreadable, decode
from fairflac.errors import UserError
from fairflac.trained.model import BATCH, Trained, probabilities

# Batches that are decoded ahead: enough to keep the model busy, and memory does not grow with the number of files.
AHEAD = 2


@dataclass(frozen=True)
class Guess:
    name: str
    probability: float


@dataclass(frozen=True)
class Answer:
    """What the model says of one file: its best guesses, or none and why."""

    path: str
    guesses: tuple[Guess, ...] = ()
    unreadable: str | None = None


def find_images(given: Sequence[Path]) -> list[Path]:
    """The files, and all that look like images at any depth of the folders; each once, sorted, as given.

    In a folder, files with an ending that no image has are passed over, and so is what is hidden.
    """
    found: set[Path] = set()
    endings = Image.registered_extensions()
    for path in given:
        if path.is_dir():
            found.update(one for one in _files(path) if not one.suffix or one.suffix.lower() in endings)
        elif path.exists():
            found.add(path)
        else:
            raise UserError(f"there is no '{path}': give images, or folders with images in them")
    if not found:
        raise UserError(f"there are no images in {', '.join(map(repr, map(str, given)))}: check the folder")
    return sorted(found)


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def answers(model: Trained, paths: Sequence[Path], top: int = 1) -> Iterator[Answer]:
    """One for each file, in order; the `top` most probable classes."""
    waiting: list[tuple[Path, np.ndarray | Unreadable]] = []
    for path, image in _decoded(model, paths):
        waiting.append((path, image))
        if len(waiting) == BATCH:
            yield from _answered(model, waiting, top)
            waiting = []
    yield from _answered(model, waiting, top)


def _decoded(model: Trained, paths: Iterable[Path]) -> Iterator[tuple[Path, np.ndarray | Unreadable]]:
    """In order. Threads are enough: Pillow lets go of the interpreter while it decodes."""

    def one(path: Path) -> np.ndarray | Unreadable:
        try:
            return decode(file_bytes(path), model.decoded_size, model.fit)
        except Unreadable as error:
            return error

    pending: deque[tuple[Path, Future[np.ndarray | Unreadable]]] = deque()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for path in paths:
            pending.append((path, pool.submit(one, path)))
            if len(pending) > AHEAD * BATCH:
                path, image = pending.popleft()
                yield path, image.result()
        yield from ((path, image.result()) for path, image in pending)


def _answered(model: Trained, batch: Sequence[tuple[Path, np.ndarray | Unreadable]], top: int) -> Iterator[Answer]:
    images = [image for _, image in batch if isinstance(image, np.ndarray)]
    shares = iter(probabilities(model(np.stack(images))) if images else ())
    for path, image in batch:
        if isinstance(image, Unreadable):
            yield Answer(str(path), unreadable=str(image))
        else:
            yield Answer(str(path), _best(next(shares), model.classes, top))


def _best(shares: np.ndarray, classes: tuple[str, ...] | None, top: int) -> tuple[Guess, ...]:
    order = np.argsort(-shares, kind="stable")[:top]
    return tuple(Guess(classes[place] if classes else str(place), float(shares[place])) for place in order)
