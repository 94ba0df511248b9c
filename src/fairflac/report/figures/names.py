"""Names as a figure has room for them, and numbers that say what they are of."""

from collections.abc import Sequence

import numpy as np

from fairflac.predictions import Predictions
from fairflac.report.names import Names, known_attribute
from fairflac.runs import Run

LONGEST = 18
MODEL = 28  # a method and a run id


def short(name: object, longest: int = LONGEST) -> str:
    """On one line, without what cannot be printed, cut where it is too long."""
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(name)).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def attribute_name(table: Predictions) -> str:
    """The known attribute in a sentence."""
    return short(known_attribute(table) or "attribute", 2 * LONGEST)


def class_names(run: Run, y: np.ndarray) -> list[str]:
    """One name per class, as many as there are classes."""
    names = Names.of(run.result)
    return _shown([names.of_class(place) for place in range(_count(y, names.classes))], "class ")


def value_names(run: Run, attribute: str, values: np.ndarray) -> list[str]:
    """One name per value of an attribute."""
    names = Names.of(run.result)
    count = _count(values, names.values.get(attribute, []))
    prefix = short(attribute.replace("_", " "), 10) + " "
    return _shown([names.of_value(attribute, place) for place in range(count)], prefix)


def _count(values: np.ndarray, known: Sequence[str]) -> int:
    return max(int(values.max(initial=-1)) + 1, len(known))


def _shown(names: Sequence[str], prefix: str) -> list[str]:
    """A name that is a number alone says nothing beside another axis of numbers."""
    return [prefix + name if (name := short(full)).isdecimal() else name for full in names]
