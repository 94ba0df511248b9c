"""What a model does with each class, and whether it beats an answer that needs no model."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairflac.metrics.intervals import Measured, paired_difference, share
from fairflac.metrics.predictions import Predictions


class Change(NamedTuple):
    """Accuracy on the images of one class, of two models."""

    label: int
    before: float
    after: float
    difference: Measured  # after minus before, image by image


class Majority(NamedTuple):
    """The answer "always the class that has most training images"."""

    label: int
    accuracy: Measured  # of that answer
    right: Measured  # of the model, on the same images

    @property
    def beaten(self) -> bool:
        """By more than chance explains, the classes of the images being as they are."""
        return self.right.low > self.accuracy.value


def confusion(table: Predictions, classes: int = 0) -> np.ndarray:
    """(C, C) images by class and prediction."""
    size = max(classes, int(max(table.y.max(initial=-1), table.prediction.max(initial=-1))) + 1)
    counts = np.zeros((size, size), dtype=np.int64)
    np.add.at(counts, (table.y, table.prediction), 1)
    return counts


def class_accuracy(table: Predictions) -> dict[int, Measured]:
    """Share of the images of each class that is named rightly (recall); classes without images are left out."""
    right = table.prediction == table.y
    return {int(label): share(right[table.y == label]) for label in np.unique(table.y)}


def majority(table: Predictions, training_images: Sequence[int]) -> Majority:
    """`training_images`: how many the training set has of each class."""
    label = int(np.argmax(training_images))
    return Majority(label, share(table.y == label), share(table.prediction == table.y))


def class_numbers(table: Predictions, classes: Sequence[str], training_images: Sequence[int] = ()) -> dict[str, Any]:
    """All of it for a JSON file; without the majority where the training images are not known."""
    found: dict[str, Any] = {
        "class_accuracy": {classes[label]: one._asdict() for label, one in class_accuracy(table).items()},
        "confusion": confusion(table, len(classes)).tolist(),
    }
    if len(training_images):
        answer = majority(table, training_images)
        found["majority"] = {
            "class": classes[answer.label],
            "accuracy": answer.accuracy._asdict(),
            "beaten": answer.beaten,
        }
    return found


def clearly_worse(before: Predictions, after: Predictions, groups: np.ndarray | None = None) -> list[Change]:
    """Classes that the second model names rightly less often on the same images, by more than chance explains.

    `groups`: (N,) count alike within a class, whatever their sizes. On images that are mostly aligned, a model that
    gave up a shortcut would otherwise lose in every class.
    """
    groups = np.zeros_like(before.y) if groups is None else groups
    changes = []
    for label in np.unique(before.y):
        cells = [(before.y == label) & (groups == group) for group in np.unique(groups[before.y == label])]
        first, second = ([(table.prediction == table.y)[cell] for cell in cells] for table in (before, after))
        found = _mean([paired_difference(*columns) for columns in zip(second, first, strict=True)])
        if found.high < 0:
            was, now = (float(np.mean([column.mean() for column in columns])) for columns in (first, second))
            changes.append(Change(int(label), was, now, found))
    return changes


def _mean(parts: Sequence[Measured]) -> Measured:
    """Of differences on different images: distances to the ends add up as standard errors do."""
    value, low, high, n = np.array(parts).T
    down, up = (float(np.sqrt(((value - end) ** 2).sum())) / len(parts) for end in (low, high))
    return Measured(float(value.mean()), float(value.mean()) - down, float(value.mean()) + up, int(n.sum()))
