"""The numbers of each run, each with the images behind it and its 95 % interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairflac.metrics import METRICS, Measured, Metric, group_table, measure
from fairflac.metrics.classes import Majority, class_accuracy, confusion
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import ACCURACIES, mean, metric_of, percent
from fairflac.reporting.naming import Names
from fairflac.reporting.text.tables import Row


@dataclass(frozen=True)
class Result:
    """One line of the results: its words from the row, its numbers measured anew."""

    row: Row
    numbers: Mapping[str, Measured]  # by name of the metric; several attributes: the worse of them

    def measured(self, title: str) -> Measured | None:
        """By the title of a column."""
        return self.numbers.get(title.replace(" ", "_"))


def result(row: Row, table: Predictions) -> Result:
    return Result(row, worst_of_attributes(measure(table)))


def mean_of_seeds(results: Sequence[Result]) -> dict[str, Measured]:
    """The intervals stay about as wide as those of one seed, since all see the same test images."""
    shared = [name for name in results[0].numbers if all(name in one.numbers for one in results)]
    return {name: mean([one.numbers[name] for one in results]) for name in shared}


def worst_of_attributes(numbers: Mapping[str, Measured]) -> dict[str, Measured]:
    """`unbiased:colour` and `unbiased:size` → `unbiased`, that of the attribute where it is worse."""
    by_metric: dict[str, list[Measured]] = {}
    for key, number in numbers.items():
        if not math.isnan(number.value):
            by_metric.setdefault(key.partition(":")[0], []).append(number)
    worst = {name: min if (metric := metric_of(name)) and metric.higher_is_better else max for name in by_metric}
    return {name: worst[name](found) for name, found in by_metric.items()}


def further_metrics() -> dict[str, Metric]:
    """Every metric that is not among the main ones."""
    return {name: metric for name, metric in METRICS.items() if name not in ACCURACIES}


@dataclass(frozen=True)
class Group:
    """One line: a class with one value of the attribute."""

    label: str
    value: str
    aligned: bool
    n: int
    small: bool  # too few images for its numbers to say much
    accuracy: dict[str, Measured]  # per model
    calibration: dict[str, Measured]


@dataclass(frozen=True)
class GroupTable:
    attribute: str
    models: list[str]
    groups: list[Group]

    @property
    def small(self) -> int:
        return sum(group.small for group in self.groups)


def group_tables(tables: Mapping[str, Predictions], names: Names) -> list[GroupTable]:
    """One table per attribute, of models that were tested on the same images."""
    attributes = next(iter(tables.values())).bias
    return [_group_table(attribute, tables, names) for attribute in attributes]


def _group_table(attribute: str, tables: Mapping[str, Predictions], names: Names) -> GroupTable:
    groups: dict[tuple[int, int], Group] = {}
    for model, table in tables.items():
        for row in group_table(table, attribute):
            group = groups.setdefault(
                (row.y, row.bias),
                Group(
                    names.of_class(row.y), names.of_value(attribute, row.bias), row.aligned, row.n, row.small, {}, {}
                ),
            )
            group.accuracy[model] = Measured(row.accuracy, row.low, row.high, row.n)
            calibration = row.calibration_error, row.calibration_low, row.calibration_high
            group.calibration[model] = Measured(*calibration, row.n)
    return GroupTable(attribute.replace("_", " "), list(tables), [groups[key] for key in sorted(groups)])


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
