"""Names of classes and attribute values as figures show them: those of the run, or numbers in an old run."""

from collections.abc import Sequence

import numpy as np

from fairflac.predictions import Predictions
from fairflac.runs import Run

LONGEST = 18
MODEL = 28  # a method and a run id


def short(name: object, longest: int = LONGEST) -> str:
    """On one line, without what cannot be printed, cut where it is too long."""
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(name)).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def attribute_name(table: Predictions) -> str:
    """The known attribute in a sentence; several that measure the same thing are one."""
    kinds = dict.fromkeys(table.repeats.get(name, name) for name in table.bias)
    return " or ".join(short(name.replace("_", " ")) for name in kinds) or "attribute"


def class_names(run: Run, y: np.ndarray) -> list[str]:
    """One name per class, as many as there are classes."""
    return _names(run.result.get("classes"), y, "class ")


def value_names(run: Run, attribute: str, values: np.ndarray) -> list[str]:
    """One name per value of an attribute."""
    known = run.result.get("attributes") or {}
    return _names(known.get(attribute), values, short(attribute.replace("_", " "), 10) + " ")


def _names(known: Sequence[str] | None, values: np.ndarray, prefix: str) -> list[str]:
    count = max(int(values.max(initial=-1)) + 1, len(known or ()))
    shown = [short(name) for name in known or ()]
    # A name that is a number alone says nothing beside another axis of numbers.
    shown = [prefix + name if name.isdecimal() else name for name in shown]
    return [*shown, *(f"{prefix}{value}" for value in range(len(shown), count))]
