"""The results of runs: a row of numbers for each, which of them can be compared, and tables of classes and groups."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairflac.metrics import METRICS, Measured, Metric, group_table, measure
from fairflac.metrics.groups import Majority, class_accuracy, confusion
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import ACCURACIES, ACCURACY, UNKNOWN, mean, metric_of, percent
from fairflac.reporting.naming import Names, data_of, is_result, labels, told_apart
from fairflac.runs.directory import Run


@dataclass(frozen=True)
class RunRow:
    """The numbers of one run on the test split. None: the attribute that the number needs is not known."""

    method: str
    dataset: str
    data: str  # the dataset with its options: rows with the same text can be compared
    run: str  # the run id, the same for all seeds
    seed: int
    unbiased: float | None
    aligned: float | None
    conflicting: float | None
    worst_group: float | None
    accuracy: float
    n: int
    seconds: float
    labels: str  # what the training was told
    start: str = UNKNOWN  # which weights it began with


class ResultColumn(NamedTuple):
    """A column as people see it."""

    title: str
    meaning: str
    cell: Callable[[RunRow], str]


def rows(runs: Sequence[Run]) -> list[RunRow]:
    """One row per run, in the order given; a bias model predicts an attribute and is no result."""
    return [_row(run) for run in runs if is_result(run)]


def columns(table: Sequence[RunRow]) -> list[ResultColumn]:
    """What a reader needs to see of these rows: what is the same in all of them, or known of none, is left out."""
    several_data = len({row.data for row in table}) > 1
    several_seeds = len({row.seed for row in table}) > 1
    repeated = len({(row.data, row.method, row.seed) for row in table}) < len(table)
    unknown = any(row.unbiased is None for row in table)
    began = any(row.start != UNKNOWN for row in table)
    told = any(row.labels != "class" for row in table)
    choice = [
        (True, ResultColumn("method", "How the model was trained.", lambda row: row.method)),
        (told, ResultColumn("labels", "What was known of the images in training.", lambda row: row.labels)),
        (began, ResultColumn("starts from", "The weights that training began with.", lambda row: row.start)),
        (several_data, ResultColumn("data", "The dataset and its options.", lambda row: row.data)),
        (
            repeated,
            ResultColumn("run", "The settings of the run, all but the seed, as a short code.", lambda row: row.run),
        ),
        (several_seeds, ResultColumn("seed", "The start of the random numbers.", lambda row: str(row.seed))),
        (unknown, ResultColumn(ACCURACY.title, ACCURACY.meaning, lambda row: percent(row.accuracy))),
    ]
    shown = [column for wanted, column in choice if wanted] + NUMBERS
    return [column for column in shown if not table or any(column.cell(row) != UNKNOWN for row in table)]


def _number(name: str) -> ResultColumn:
    return ResultColumn(METRICS[name].title, METRICS[name].meaning, lambda row: percent(getattr(row, name)))


_OF_GROUPS = ACCURACIES[1:]  # fields of a row


NUMBERS = [
    *map(_number, _OF_GROUPS),
    ResultColumn(
        "seconds", "Time to train this model, without the time of its bias model.", lambda row: f"{row.seconds:.1f}"
    ),
]


def _row(run: Run) -> RunRow:
    config, result = run.config, run.result
    test = result["test"]
    return RunRow(
        method=config["method"],
        dataset=config["dataset"],
        data=data_of(config),
        run=run.path.name.rpartition("-s")[0] or run.path.name,
        seed=config["seed"],
        **{name: _smallest(test, name) for name in _OF_GROUPS},
        accuracy=test["accuracy"],
        n=int(test["n"]),
        seconds=result["seconds"],
        labels=labels(run).cell,
        start=_start(run),
    )


def _start(run: Run) -> str:
    """Said of runs that begin with weights from elsewhere, and of those that should have."""
    weights = run.config.get("net_options", {}).get("weights")
    if weights is not None:
        return "ImageNet" if weights == "imagenet" else "a file"
    return "scratch (!)" if run.result.get("from_scratch") else UNKNOWN


def _smallest(test: dict[str, float], name: str) -> float | None:
    """Over the attributes (`unbiased:colour`, …). A split without a single such group has NaN there."""
    values = [value for key, value in test.items() if key.partition(":")[0] == name and not math.isnan(value)]
    return min(values, default=None)


@dataclass(frozen=True)
class Model:
    """One method with one setting on one dataset."""

    name: str  # the method's; where one has several settings, with those that differ, or with the run id
    method: str
    run: Run  # of the first seed
    rows: list[RunRow]  # one per seed

    @property
    def seeds(self) -> int:
        return len(self.rows)


def by_data(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that are results, by what they were trained on, in the order given."""
    parts: dict[str, list[Run]] = {}
    for run in filter(is_result, runs):
        parts.setdefault(data_of(run.config), []).append(run)
    return parts


def models(runs: Sequence[Run]) -> list[Model]:
    """The models among runs of the same data, in the order of their first run."""
    settings: dict[tuple[str, str], list[tuple[Run, RunRow]]] = {}
    for run, row in zip(runs, rows(runs), strict=True):
        settings.setdefault((row.method, row.run), []).append((run, row))
    names: dict[tuple[str, str], str] = {}
    for method in dict.fromkeys(method for method, _ in settings):
        keys = [key for key in settings if key[0] == method]
        apart = told_apart([settings[key][0][0].config for key in keys]) or [run_id for _, run_id in keys]
        names |= {key: f"{method} ({said})" if len(keys) > 1 else method for key, said in zip(keys, apart, strict=True)}
    return [_model(names[key], members) for key, members in settings.items()]


def _model(name: str, members: list[tuple[Run, RunRow]]) -> Model:
    rows = [row for _, row in members]
    return Model(name, rows[0].method, members[0][0], rows)


def strongest_vanilla(models: Sequence[Model], score: Mapping[str, float]) -> Model | None:
    """Of several the best, so that no help is made up; only those with a score."""
    plain = [model for model in models if model.method == "vanilla" and model.name in score]
    return max(plain, key=lambda model: score[model.name], default=None)


def on_the_same_images(tables: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """The first model, and all that were tested on the images it was tested on."""
    first = next(iter(tables.values()))
    return {
        name: table
        for name, table in tables.items()
        if table.same_images(first) and table.bias.keys() == first.bias.keys()
    }


@dataclass(frozen=True)
class RunResult:
    """One line of the results: its words from the row, its numbers measured anew."""

    row: RunRow
    numbers: Mapping[str, Measured]  # by name of the metric; several attributes: the worse of them

    def measured(self, title: str) -> Measured | None:
        """By the title of a column."""
        return self.numbers.get(title.replace(" ", "_"))


def result(row: RunRow, table: Predictions) -> RunResult:
    return RunResult(row, worst_of_attributes(measure(table)))


def mean_of_seeds(results: Sequence[RunResult]) -> dict[str, Measured]:
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
