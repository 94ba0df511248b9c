"""The parts of a table: each class, and each group of class and attribute value."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairflac.metrics.intervals import DRAWS, SEED, Measured, percentiles, share, share_interval
from fairflac.metrics.predictions import Predictions, count

JOINT = "+"  # between the values of several attributes that count as one
SMALL = 30  # images, below which the accuracy of a group says little


class GroupRow(NamedTuple):
    """One group: its accuracy and its expected calibration error, each with a 95 % bootstrap interval."""

    y: int
    bias: int
    aligned: bool
    accuracy: float
    n: int
    low: float
    high: float
    calibration_error: float
    calibration_low: float
    calibration_high: float
    small: bool  # under 30 images


def group_table(table: Predictions, attribute: str) -> list[GroupRow]:
    """One row per group that has the images it needs (see `Attribute.min_cell`), by class and value.

    A group that is all right or all wrong has an interval too, see `clopper_pearson_if_constant`.
    """
    counts, values = count(table, attribute), np.unique(table.bias[attribute])
    rows = []
    for y, k in np.argwhere(counts.counted).tolist():
        n, value = int(counts.per_group[y, k]), int(values[k])
        accuracy = float(counts.right[y, k] / n)
        calibration = _calibration(table, attribute, y, value)
        aligned = bool(counts.aligned[y, k])
        rows.append(GroupRow(y, value, aligned, accuracy, n, *share_interval(accuracy, n), *calibration, n < SMALL))
    return rows


def _calibration(table: Predictions, attribute: str, y: int, value: int) -> tuple[float, float, float]:
    inside = (table.y == y) & (table.bias[attribute] == value)
    score, right = table.score[inside], (table.prediction == table.y)[inside]
    return calibration_error(score, right), *calibration_interval(score, right)


BINS = 15  # of equal width, as is usual (Guo et al., 2017)


def calibration_error(score: np.ndarray, right: np.ndarray) -> float:
    """(N,) probabilities of the predicted class, (N,) bool → expected calibration error.

    The mean over bins of |share of right answers - mean probability|, weighted by the images in a bin.
    """
    return float(_errors(_bins(score), right - score, np.arange(len(score))[None])[0])


def calibration_interval(score: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Bootstrap over the images. The error of a resample is a little larger, as that of any small sample is."""
    resamples = np.random.default_rng(SEED).integers(0, len(score), (DRAWS, len(score)))
    return percentiles(_errors(_bins(score), right - score, resamples))


def _bins(score: np.ndarray) -> np.ndarray:
    return np.minimum((score * BINS).astype(np.int64), BINS - 1)


def _errors(bins: np.ndarray, surplus: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(R, n) rows drawn → (R,) errors: within a bin, n_b |accuracy - confidence| is |Σ (right - score)|."""
    slot = bins[rows] + BINS * np.arange(len(rows))[:, None]
    sums = np.bincount(slot.ravel(), surplus[rows].ravel(), BINS * len(rows)).reshape(len(rows), BINS)
    errors: np.ndarray = np.abs(sums).sum(1) / rows.shape[1]
    return errors


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


class Weakest(NamedTuple):
    """The part of the images that a model names rightly least often."""

    label: int
    attribute: str | None  # None: all images of the class
    value: int
    accuracy: Measured


def weakest(table: Predictions) -> Weakest | None:
    """The worst class or group of SMALL images or more; None if it is not clearly worse than all images together."""
    right = table.prediction == table.y
    parts = [Weakest(label, None, 0, one) for label, one in class_accuracy(table).items()]
    for name in table.bias:
        counts, values = count(table, name), np.unique(table.bias[name])
        for y, k in np.argwhere(counts.counted).tolist():
            inside = (table.y == y) & (table.bias[name] == values[k])
            parts.append(Weakest(y, name, int(values[k]), share(right[inside])))
    found = min((part for part in parts if part.accuracy.n >= SMALL), key=lambda part: part.accuracy, default=None)
    return found if found is not None and found.accuracy.high < right.mean() else None


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
