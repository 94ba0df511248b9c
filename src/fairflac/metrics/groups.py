"""Accuracy, overall and over the groups (class, attribute value)."""

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame, count
from sklearn.metrics import accuracy_score

from fairflac.predictions import Predictions


def accuracy(table: Predictions) -> float:
    """Share of right predictions."""
    return float(np.mean(table.prediction == table.y))


def group_accuracy(table: Predictions, attribute: str) -> pd.DataFrame:
    """One row per non-empty group: y, bias, aligned, accuracy, n."""
    features = pd.DataFrame({"y": table.y, "bias": table.bias[attribute], "aligned": table.aligned[attribute]})
    frame = MetricFrame(
        metrics={"accuracy": accuracy_score, "n": count},
        y_true=table.y,
        y_pred=table.prediction,
        sensitive_features=features,
    )
    groups = frame.by_group.dropna().reset_index()  # empty groups are rows without numbers
    numbers: pd.DataFrame = groups.astype({"aligned": bool, "n": int, "accuracy": float})
    return numbers


def summary(table: Predictions) -> dict[str, float]:
    """The numbers of a result row. With an attribute known, also:

    - `unbiased`: mean of the group accuracies, so that every group counts alike
    - `aligned`, `conflicting`: the same over groups whose attribute goes, or does not go, with the class
    - `worst_group`: the smallest of them

    Several attributes: keys carry the attribute's name, `unbiased:colour`.
    """
    numbers: dict[str, float] = {"accuracy": accuracy(table), "n": len(table)}
    for attribute in table.bias:
        groups = group_accuracy(table, attribute)
        suffix = f":{attribute}" if len(table.bias) > 1 else ""
        parts = {
            "unbiased": groups.accuracy.mean(),
            "aligned": groups.accuracy[groups.aligned].mean(),
            "conflicting": groups.accuracy[~groups.aligned].mean(),
            "worst_group": groups.accuracy.min(),
        }
        numbers |= {f"{name}{suffix}": float(value) for name, value in parts.items() if np.isfinite(value)}
    return numbers
