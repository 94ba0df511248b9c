"""Image files → names of classes, however many files there are."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from fairflac.data.own.arrow_files import read_saved
from fairflac.data.own.csv_file import TABLES, read_sheet
from fairflac.data.own.shards import read_shards
from fairflac.data.own.sheet import USUAL, ColumnChoice, sheet_images
from fairflac.data.pixels.cache import NAMED
from fairflac.data.pixels.decode import Unreadable
from fairflac.data.pixels.files import Decoded, decode_files
from fairflac.data.pixels.rows import image_row
from fairflac.errors import UserError
from fairflac.inference.model import BATCH, Classifier, probabilities
from fairflac.metrics.scores import percent
from fairflac.system.files import visible_files
from fairflac.system.tables import csv_text, text_table


@dataclass(frozen=True)
class ClassProbability:
    name: str
    probability: float


@dataclass(frozen=True)
class Answer:
    """What the model says of one file: its best guesses, or none and why."""

    path: str
    guesses: tuple[ClassProbability, ...] = ()
    unreadable: str | None = None


def find_images(given: Sequence[Path], choice: ColumnChoice = USUAL, *, allow_outside: bool = False) -> list[Path]:
    """The files, and all that look like images at any depth of the folders; each once, sorted, as given. Of a table
    the images that it lists or has in its rows, in their order.

    In a folder, files with an ending that no image has are passed over, and so is what is hidden.
    """
    found: set[Path] = set()
    listed: dict[Path, None] = {}
    endings = Image.registered_extensions()
    for path in given:
        if path.is_dir():
            images = [one for one in visible_files(path) if not one.suffix or one.suffix.lower() in endings]
            sheet = None if images else read_saved(path) or read_shards(path)
            found.update(images)
            listed |= dict.fromkeys(sheet_images(sheet, choice, allow_outside) if sheet else ())
        elif path.suffix.lower() in TABLES and path.is_file():
            listed |= dict.fromkeys(sheet_images(read_sheet(path, choice), choice, allow_outside))
        elif path.exists() or image_row(path):
            found.add(path)
        else:
            raise UserError(f"there is no '{path}': give images, or folders with images in them")
    if not found and not listed:
        raise UserError(f"there are no images in {', '.join(map(repr, map(str, given)))}: check the folder")
    return [*sorted(found), *(path for path in listed if path not in found)]


def answers(model: Classifier, paths: Sequence[Path], top: int = 1) -> Iterator[Answer]:
    """One for each file, in order; the `top` most probable classes."""
    waiting: list[tuple[Path, Decoded | Unreadable]] = []
    for path, image in zip(paths, decode_files(paths, model.decoded_size, model.fit), strict=True):
        waiting.append((path, image))
        if len(waiting) == BATCH:
            yield from _answered(model, waiting, top)
            waiting = []
    yield from _answered(model, waiting, top)


def _answered(model: Classifier, batch: Sequence[tuple[Path, Decoded | Unreadable]], top: int) -> Iterator[Answer]:
    images = [image.pixels for _, image in batch if isinstance(image, Decoded)]
    shares = iter(probabilities(model(np.stack(images))) if images else ())
    for path, image in batch:
        if isinstance(image, Unreadable):
            yield Answer(str(path), unreadable=str(image))
        else:
            yield Answer(str(path), _best(next(shares), model.classes, top))


def _best(shares: np.ndarray, classes: tuple[str, ...] | None, top: int) -> tuple[ClassProbability, ...]:
    order = np.argsort(-shares, kind="stable")[:top]
    return tuple(ClassProbability(classes[place] if classes else str(place), float(shares[place])) for place in order)


def escaped(path: str) -> str:
    r"""A file's name as text that any program can read. Bytes that are no UTF-8 become \xff, and `unescaped` undoes it.

    Names that hold \x as they are have their backslashes doubled, so that both kinds can be told apart.
    """
    if "\\x" not in path and not any("\udc80" <= letter <= "\udcff" for letter in path):
        return path
    doubled = path.replace("\\", r"\\")
    return re.sub("[\udc80-\udcff]", lambda found: rf"\x{ord(found[0]) - 0xDC00:02x}", doubled)


def unescaped(text: str) -> str:
    """The name of the file that was written as `text`."""
    if "\\x" not in text:
        return text
    return re.sub(r"\\(\\|x..)", lambda found: "\\" if found[1] == "\\" else chr(0xDC00 + int(found[1][1:], 16)), text)


def as_text(answers: Sequence[Answer]) -> str:
    """One line for each image; what could not be read is not in it."""
    header = _header(answers)
    lines = [
        [escaped(answer.path), *(cell for one in answer.guesses for cell in (one.name, percent(one.probability)))]
        for answer in readable(answers)
    ]
    return text_table([header, *lines])


def as_csv(answers: Sequence[Answer]) -> str:
    lines = [
        [escaped(answer.path), *(cell for one in answer.guesses for cell in (one.name, f"{one.probability:.6f}"))]
        for answer in readable(answers)
    ]
    return csv_text([_header(answers), *lines])


def as_json(answers: Sequence[Answer]) -> str:
    """`images` with all guesses of each, the best first; `unreadable` with the reason of each."""
    images = [
        {
            "path": escaped(answer.path),
            "class": answer.guesses[0].name,
            "probability": answer.guesses[0].probability,
            "top": [{"class": one.name, "probability": one.probability} for one in answer.guesses],
        }
        for answer in readable(answers)
    ]
    broken = [{"path": escaped(answer.path), "reason": answer.unreadable} for answer in answers if answer.unreadable]
    return json.dumps({"images": images, "unreadable": broken}, indent=1) + "\n"


def unreadable_line(answers: Sequence[Answer]) -> str | None:
    """What could not be read, a few by name; None if all could."""
    broken = [f"'{escaped(answer.path)}' ({answer.unreadable})" for answer in answers if answer.unreadable]
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    said = f"{len(broken)} of {len(answers)} files cannot be read as images: {', '.join(broken[:NAMED])}{more}"
    return said if broken else None


def readable(answers: Sequence[Answer]) -> list[Answer]:
    return [answer for answer in answers if answer.guesses]


def _header(answers: Sequence[Answer]) -> list[str]:
    """`path, class, probability`, and `class 2, probability 2` with a second guess."""
    guesses = max((len(answer.guesses) for answer in answers), default=1)
    numbered = ["" if place == 1 else f" {place}" for place in range(1, guesses + 1)]
    return ["path", *(name + place for place in numbered for name in ("class", "probability"))]
