"""The table of results: one row per run, as text for a terminal and as JSON for programs."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from fairflac.metrics import METRICS, Measured
from fairflac.metrics.scores import ACCURACIES, ACCURACY, UNKNOWN, percent
from fairflac.reporting.naming import data_of, is_result, labels
from fairflac.runs.directory import Run


@dataclass(frozen=True)
class Row:
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


class Column(NamedTuple):
    """A column as people see it."""

    title: str
    meaning: str
    cell: Callable[[Row], str]


def rows(runs: Sequence[Run]) -> list[Row]:
    """One row per run, in the order given; a bias model predicts an attribute and is no result."""
    return [_row(run) for run in runs if is_result(run)]


def columns(table: Sequence[Row]) -> list[Column]:
    """What a reader needs to see of these rows: what is the same in all of them, or known of none, is left out."""
    several_data = len({row.data for row in table}) > 1
    several_seeds = len({row.seed for row in table}) > 1
    repeated = len({(row.data, row.method, row.seed) for row in table}) < len(table)
    unknown = any(row.unbiased is None for row in table)
    told = any(row.labels != "class" for row in table)
    choice = [
        (True, Column("method", "How the model was trained.", lambda row: row.method)),
        (told, Column("labels", "What was known of the images in training.", lambda row: row.labels)),
        (several_data, Column("data", "The dataset and its options.", lambda row: row.data)),
        (repeated, Column("run", "The settings of the run, all but the seed, as a short code.", lambda row: row.run)),
        (several_seeds, Column("seed", "The start of the random numbers.", lambda row: str(row.seed))),
        (unknown, Column(ACCURACY.title, ACCURACY.meaning, lambda row: percent(row.accuracy))),
    ]
    shown = [column for wanted, column in choice if wanted] + NUMBERS
    return [column for column in shown if not table or any(column.cell(row) != UNKNOWN for row in table)]


def _number(name: str) -> Column:
    return Column(METRICS[name].title, METRICS[name].meaning, lambda row: percent(getattr(row, name)))


_OF_GROUPS = ACCURACIES[1:]  # fields of a row
NUMBERS = [
    *map(_number, _OF_GROUPS),
    Column(
        "seconds", "Time to train this model, without the time of its bias model.", lambda row: f"{row.seconds:.1f}"
    ),
]


def as_text(table: Sequence[Row]) -> str:
    shown = columns(table)
    return aligned([[column.title for column in shown], *([column.cell(row) for column in shown] for row in table)])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be: the first to the left, everything else to the right."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True))])
        for first, *rest in lines
    )


def as_json(table: Sequence[Row]) -> str:
    return json.dumps([asdict(row) for row in table], indent=1, allow_nan=False)


def _row(run: Run) -> Row:
    config, result = run.config, run.result
    test = result["test"]
    return Row(
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
    )


def _smallest(test: dict[str, float], name: str) -> float | None:
    """Over the attributes (`unbiased:colour`, …). A split without a single such group has NaN there."""
    values = [value for key, value in test.items() if key.partition(":")[0] == name and not math.isnan(value)]
    return min(values, default=None)


def span(number: Measured) -> str:
    """The two ends, in percent."""
    between = " to " if number.low < 0 else "–"  # a dash beside a minus cannot be read
    return f"{100 * number.low:.1f}{between}{100 * number.high:.1f}"


def with_range(number: Measured, unit: str = "") -> str:
    """A share; n counts images unless another unit is named."""
    return f"{percent(number.value)} ({span(number)}, n = {number.n:,}{unit})"
