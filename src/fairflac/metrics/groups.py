"""Accuracy, overall and over the groups (class, attribute value)."""

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame, count
from sklearn.metrics import accuracy_score

from fairflac.metrics.fairness import error_rate_gap, p_rule
from fairflac.predictions import Predictions


def accuracy(table: Predictions) -> float:
    """Share of right predictions."""
    return float(np.mean(table.prediction == table.y))


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


def summary(table: Predictions) -> dict[str, float]:
    """The numbers of a result row. With an attribute known, also:

    - `unbiased`: mean of the group accuracies, so that every group counts alike
    - `aligned`, `conflicting`: the same over groups whose attribute goes, or does not go, with the class
    - `worst_group`: the smallest of them
    - `p_rule`, `error_rate_gap`: see `fairness`

    Several attributes: keys carry the attribute's name, `unbiased:colour`. Attributes that repeat one another count as
    one, with the mean of their scores.
    """
    numbers: dict[str, float] = {"accuracy": accuracy(table), "n": len(table)}
    scores: dict[str, list[dict[str, float]]] = {}
    for attribute in table.bias:
        scores.setdefault(table.repeats.get(attribute, attribute), []).append(_scores(table, attribute))
    for name, repeated in scores.items():
        suffix = f":{name}" if len(scores) > 1 else ""
        means = pd.DataFrame(repeated).mean()
        numbers |= {f"{key}{suffix}": float(value) for key, value in means.items() if np.isfinite(value)}
    return numbers


def _scores(table: Predictions, attribute: str) -> dict[str, float]:
    groups = group_accuracy(table, attribute)
    return {
        "unbiased": groups.accuracy.mean(),
        "aligned": groups.accuracy[groups.aligned].mean(),
        "conflicting": groups.accuracy[~groups.aligned].mean(),
        "worst_group": groups.accuracy.min(),
        "p_rule": p_rule(table, attribute) if len(groups) else np.nan,
        "error_rate_gap": error_rate_gap(table, attribute) if len(groups) else np.nan,
    }
