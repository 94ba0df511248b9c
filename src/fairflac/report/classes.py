"""Every class: how often it is named rightly, and what it is taken for."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairflac.metrics import Measured
from fairflac.metrics.classes import Majority, class_accuracy, confusion
from fairflac.predictions import Predictions
from fairflac.report.names import Names
from fairflac.report.tables import percent

MOST = 20  # classes of a matrix that a reader takes in; of more, as many of the most frequent mistakes


@dataclass(frozen=True)
class ClassLine:
    label: str
    n: int
    accuracy: dict[str, Measured]  # per model


@dataclass(frozen=True)
class Matrix:
    """Images by class, in rows, and by what the model said."""

    labels: list[str]
    counts: list[list[int]]


def class_lines(tables: Mapping[str, Predictions], names: Names) -> list[ClassLine]:
    """Of models that were tested on the same images."""
    found = {model: class_accuracy(table) for model, table in tables.items()}
    first = next(iter(found.values()))
    return [
        ClassLine(names.of_class(label), one.n, {model: by_class[label] for model, by_class in found.items()})
        for label, one in first.items()
    ]


def matrix(table: Predictions, names: Names) -> Matrix | None:
    """None: there are too many classes."""
    labels = names.all_classes(table)
    return Matrix(labels, confusion(table, len(labels)).tolist()) if len(labels) <= MOST else None


def mistakes(table: Predictions, names: Names) -> list[tuple[str, str, int]]:
    """The most frequent ones: the class, what was said, and how often."""
    counts = confusion(table)
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[: min(MOST, np.count_nonzero(counts))]
    rows, columns = (place.tolist() for place in np.unravel_index(order, counts.shape))
    return [
        (names.of_class(y), names.of_class(said), int(counts[y, said])) for y, said in zip(rows, columns, strict=True)
    ]


def majority_sentence(found: Majority, names: Names) -> str:
    """The answer that needs no model."""
    label = names.of_class(found.label)
    return f"Always saying “{label}”, the most frequent class in training, is right on {percent(found.accuracy.value)}."
