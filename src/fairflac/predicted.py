"""Answers to image files as a table, as CSV and as JSON."""

import csv
import io
import json
import re
from collections.abc import Sequence

from fairflac.data.cache import NAMED
from fairflac.predicting import Answer
from fairflac.report.tables import aligned, percent


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
    return aligned([header, *lines])


def as_csv(answers: Sequence[Answer]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_header(answers))
    for answer in readable(answers):
        cells = (cell for one in answer.guesses for cell in (one.name, f"{one.probability:.6f}"))
        writer.writerow([escaped(answer.path), *cells])
    return text.getvalue()


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
