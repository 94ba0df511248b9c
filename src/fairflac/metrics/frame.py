"""Scores of arrays, as fairlearn's `MetricFrame` takes them, with the intervals that runs have."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairflac.metrics.fairness import false_negative_rate, false_positive_rate, positive_rate
from fairflac.metrics.intervals import Measured, share_interval
from fairflac.metrics.predictions import Counts, Predictions, count, count_without_groups
from fairflac.metrics.scores import METRICS, UNKNOWN, Metric, measure_counts, percent
from fairflac.system.tables import text_table

Rates = Mapping[str, Measured]  # accuracy; with two classes also selection, false positive and false negative rate


@dataclass(frozen=True)
class MetricSummary:
    """Scores of predictions, over all samples and by group; every number has a 95 % interval and its samples.

    `print` it for a table; `to_dict` is for JSON.
    """

    features: tuple[str, ...]  # names of the sensitive features
    overall: Rates
    by_group: Mapping[Hashable, Rates]  # by value; with several features by tuple of values, those that occur
    fairness: Rates  # every metric of `METRICS` that needs no more than the groups

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers."""
        groups = [
            dict(zip(self.features, self._values(group), strict=True)) | _plain(rates)
            for group, rates in self.by_group.items()
        ]
        return {"overall": _plain(self.overall), "by_group": groups, "fairness": _plain(self.fairness)}

    def __str__(self) -> str:
        rows = [[", ".join(self.features), *(name.replace("_", " ") for name in self.overall), "n"]]
        for title, rates in [("all", self.overall), *self.by_group.items()]:
            cells = [_in_percent(rates[name]) if name in rates else UNKNOWN for name in self.overall]
            rows.append([", ".join(map(str, self._values(title))), *cells, f"{rates['accuracy'].n:,}"])
        numbers = [[METRICS[name].title, _shown(METRICS[name], found)] for name, found in self.fairness.items()]
        return f"{text_table(rows, '<' * len(rows[0]))}\n\n{text_table(numbers, '<<')}"

    def _values(self, group: Hashable) -> Sequence[Any]:
        return group if isinstance(group, tuple) else (group,)


def score(y_true: Any, y_pred: Any, *, sensitive_features: Any) -> MetricSummary:
    """Accuracy and fairness of any classifier's predictions, with 95 % intervals.

    Groups are the values of the sensitive feature, or with several features the combinations of their values that
    occur, as in fairlearn's `MetricFrame`. With two classes the second, in sorted order, is the positive one; with
    more, a gap is that of the class where it is largest. What the metrics mean: docs/metrics.md.

    Args:
        y_true: (N,) classes, of any kind that can be sorted: an array, list or pandas Series.
        y_pred: (N,) predicted classes.
        sensitive_features: one feature, as y_true; or several, a dict or pandas DataFrame of them or an (N, F) array.

    Returns:
        `overall` and `by_group`: accuracy, and with two classes selection rate, false positive and false negative rate.
        `fairness`: accuracies over groups of class and value, gaps and ratios. Each number is a `Measured` with
        `value`, `low`, `high` and `n`. `print` shows a table, `to_dict()` is for JSON.

    Raises:
        ValueError: lengths differ, a value is missing, or `y_pred` holds probabilities.

    Example:
        >>> found = fairflac.score([0, 1, 1, 0], [0, 1, 0, 0], sensitive_features={"sex": ["f", "f", "m", "m"]})
        >>> found.by_group["m"]["accuracy"].value
        0.5
        >>> found.fairness["demographic_parity_gap"].value
        0.5
    """
    truth, predicted, features = _labels("y_true", y_true), _labels("y_pred", y_pred), _features(sensitive_features)
    columns = {"y_true": truth, "y_pred": predicted, **{f"sensitive feature '{k}'": v for k, v in features.items()}}
    _check(columns)
    y, prediction = np.split(_codes([*truth, *predicted], "classes")[0], 2)
    names = tuple(features)
    groups = list(zip(*features.values(), strict=True)) if len(names) > 1 else next(iter(features.values()))
    group, values = _codes(groups, f"values of {' and '.join(names)}")
    table = _table(y, prediction, group)
    counts, metrics = count(table, ""), {name: one for name, one in METRICS.items() if not one.needs_alignment}
    return MetricSummary(
        features=names,
        overall=_rates(count_without_groups(table))[0],
        by_group=dict(zip(values, _rates(counts), strict=True)),
        fairness=measure_counts(counts, metrics),
    )


def _labels(name: str, given: Any) -> list[Any]:
    array = _objects(given)
    if array.ndim == 2 and array.shape[1] == 1:  # a DataFrame of one column
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one column of values, not of shape {array.shape}")
    return [value.item() if isinstance(value, np.generic) else value for value in array.tolist()]


def _objects(given: Any) -> np.ndarray:
    """As they are: with a type in common, a NaN among words would be the word 'nan'. What is masked becomes None."""
    return given.astype(object) if isinstance(given, np.ma.MaskedArray) else np.asarray(given, dtype=object)


def _features(given: Any) -> dict[str, list[Any]]:
    """By name; those without one are called as fairlearn calls them."""
    if isinstance(given, Mapping) or hasattr(given, "columns"):  # a DataFrame
        names = given if isinstance(given, Mapping) else given.columns
        named = {str(name): _labels(f"sensitive feature '{name}'", given[name]) for name in names}
    elif (array := _objects(given)).ndim == 2:
        named = {f"sensitive_feature_{i}": _labels("a sensitive feature", column) for i, column in enumerate(array.T)}
    else:
        name = getattr(given, "name", None)
        named = {"sensitive_feature_0" if name is None else str(name): _labels("sensitive_features", given)}
    if not named:
        raise ValueError("sensitive_features has no column")
    return named


def _check(columns: Mapping[str, Sequence[Any]]) -> None:
    lengths = {name: len(values) for name, values in columns.items()}
    if len({*lengths.values()}) > 1:
        raise ValueError(f"lengths differ: {', '.join(f'{name} has {n}' for name, n in lengths.items())}")
    if not lengths["y_true"]:
        raise ValueError("there are no samples to score")
    for name, values in columns.items():
        missing = [row for row, value in enumerate(values) if _is_missing(value)]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise ValueError(f"{name} has no value in row {missing[0]}{more}: leave such rows out, or name the value")
    new = {*columns["y_pred"]} - {*columns["y_true"]}
    if any(isinstance(value, float) and not value.is_integer() for value in new):
        raise ValueError("y_pred holds numbers that are no class: give predicted classes, not probabilities")


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)  # NaN and NaT
    except TypeError:  # pandas.NA has no truth
        return True


def _codes(values: Sequence[Any], what: str) -> tuple[np.ndarray, list[Any]]:
    """(N,) positions in the sorted distinct values, and these."""
    try:
        distinct = sorted({*values})
    except TypeError as error:
        raise ValueError(f"{what} are of several kinds that cannot be sorted") from error
    position = {value: i for i, value in enumerate(distinct)}
    return np.array([position[value] for value in values]), distinct


def _table(y: np.ndarray, prediction: np.ndarray, group: np.ndarray) -> Predictions:
    """Nobody said which group goes with which class."""
    n = len(y)
    bias, aligned = {"": group}, {"": np.zeros(n, dtype=bool)}
    return Predictions(np.arange(n), y, prediction, np.ones(n), np.empty((n, 0)), bias, aligned)


def _rates(counts: Counts) -> list[dict[str, Measured]]:
    """Of each group; a rate of no samples is left out."""
    n = counts.per_group  # (C, K)
    columns = {"accuracy": (counts.right.sum(0) / n.sum(0), n.sum(0))}
    if len(n) == 2:
        columns["selection_rate"] = positive_rate(counts, 1), n.sum(0)
        columns["false_positive_rate"] = false_positive_rate(counts, 1), n[0]
        columns["false_negative_rate"] = false_negative_rate(counts, 1), n[1]
    return [
        {name: _share(float(rate[k]), int(of[k])) for name, (rate, of) in columns.items() if of[k]}
        for k in range(n.shape[1])
    ]


def _share(value: float, n: int) -> Measured:
    return Measured(value, *share_interval(value, n), n)


def _plain(rates: Rates) -> dict[str, Any]:
    return {name: found._asdict() for name, found in rates.items()}


def _shown(metric: Metric, found: Measured) -> str:
    if metric.share or metric.percent:
        return _in_percent(found)
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def _in_percent(found: Measured) -> str:
    return f"{percent(found.value)} ({100 * found.low:.1f} to {100 * found.high:.1f})"
