"""The groups of class and attribute value, one row each."""

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame, count
from sklearn.metrics import accuracy_score

from fairflac.metrics.calibration import calibration_error, calibration_interval
from fairflac.metrics.intervals import share_interval
from fairflac.predictions import Predictions

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
