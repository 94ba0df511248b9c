"""The groups of class and attribute value, one row each."""

from typing import NamedTuple

import numpy as np

from fairflac.metrics.intervals import DRAWS, SEED, percentiles, share_interval
from fairflac.metrics.predictions import Predictions, count

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
    place = bins[rows] + BINS * np.arange(len(rows))[:, None]
    sums = np.bincount(place.ravel(), surplus[rows].ravel(), BINS * len(rows)).reshape(len(rows), BINS)
    errors: np.ndarray = np.abs(sums).sum(1) / rows.shape[1]
    return errors
