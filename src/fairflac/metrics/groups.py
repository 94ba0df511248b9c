"""The groups of class and attribute value, one row each."""

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame, count
from sklearn.metrics import accuracy_score

from fairflac.metrics.intervals import DRAWS, SEED, percentiles, share_interval
from fairflac.metrics.predictions import Predictions

SMALL = 30  # images, below which the accuracy of a group says little


def group_accuracy(table: Predictions, attribute: str) -> pd.DataFrame:
    """One row per group that has the images it needs (see `Attribute.min_cell`): y, bias, aligned, accuracy, n."""
    features = pd.DataFrame({"y": table.y, "bias": table.bias[attribute], "aligned": table.aligned[attribute]})
    frame = MetricFrame(
        metrics={"accuracy": accuracy_score, "n": count},
        y_true=table.y,
        y_pred=table.prediction,
        sensitive_features=features,
    )
    groups = frame.by_group.dropna().reset_index()  # empty groups are rows without numbers
    numbers: pd.DataFrame = groups.astype({"aligned": bool, "n": int, "accuracy": float})
    large: pd.DataFrame = numbers[numbers.n >= table.min_cell.get(attribute, 1)].reset_index(drop=True)
    return large


def group_table(table: Predictions, attribute: str) -> pd.DataFrame:
    """The same with 95 % bootstrap intervals (`low`, `high`), calibration error, and `small` for under 30 images.

    A group that is all right or all wrong has an interval too, see `never_certain`.
    """
    groups = group_accuracy(table, attribute)
    ends = [share_interval(share, n) for share, n in zip(groups.accuracy.tolist(), groups.n.tolist(), strict=True)]
    groups["low"], groups["high"] = np.array(ends).reshape(-1, 2).T
    errors = [_calibration(table, attribute, group.y, group.bias) for group in groups.itertuples()]
    for place, name in enumerate(("calibration_error", "calibration_low", "calibration_high")):
        groups[name] = [error[place] for error in errors]
    groups["small"] = groups.n < SMALL
    return groups


def _calibration(table: Predictions, attribute: str, y: object, value: object) -> tuple[float, float, float]:
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
