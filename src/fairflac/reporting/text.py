"""Results as text for a terminal and as JSON for programs: a table of runs, one table of predictions, two compared."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from fairflac.metrics import Measured, group_table, measure
from fairflac.metrics.comparison import Difference
from fairflac.metrics.evidence import with_pseudo_groups
from fairflac.metrics.groups import SMALL, class_numbers, majority
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import PROBES, measure_features
from fairflac.metrics.retrieval import Retrieval
from fairflac.metrics.scores import metric_of, percent
from fairflac.reporting.naming import Names, labels
from fairflac.reporting.results import RunRow, class_lines, columns, majority_sentence, matrix, mistakes
from fairflac.runs.directory import Run
from fairflac.system.tables import text_table


def span(number: Measured) -> str:
    """The two ends, in percent."""
    between = " to " if number.low < 0 else "–"  # a dash beside a minus cannot be read
    return f"{100 * number.low:.1f}{between}{100 * number.high:.1f}"


def with_range(number: Measured, unit: str = "") -> str:
    """A share; n counts images unless another unit is named."""
    return f"{percent(number.value)} ({span(number)}, n = {number.n:,}{unit})"


def as_text(table: Sequence[RunRow]) -> str:
    shown = columns(table)
    return text_table([[column.title for column in shown], *([column.cell(row) for column in shown] for row in table)])


def as_json(table: Sequence[RunRow]) -> str:
    return json.dumps([asdict(row) for row in table], indent=1, allow_nan=False)


MISSING = "the attribute is not known, so nothing can be said about groups of class and attribute"
PSEUDO = "with the guess of the bias model in place of the attribute (pseudo-groups: a hint, no evidence)"


def measurement_text(table: Predictions, names: Names, training_images: Sequence[int] = ()) -> str:
    """One number a line, with its interval and how many images are behind it."""
    lines = [*_lines(table), "", *_classes(table, names, training_images), ""]
    for attribute in table.bias:
        if few := sum(row.small for row in group_table(table, attribute)):
            groups = "group" if few == 1 else "groups"
            lines.append(f"  {few} {groups} of class and {attribute} with fewer than {SMALL} images")
    if not table.bias:
        lines.append(f"  {MISSING}")
    if guessed := with_pseudo_groups(table):
        lines += [f"  {PSEUDO}:", *(f"  {line}" for line in _lines(guessed))]
    return "\n".join(lines)


def measurement_json(table: Predictions, names: Names, training_images: Sequence[int] = ()) -> dict[str, Any]:
    """`metrics` by name, `groups` by attribute; `missing` says what could not be measured, and why."""
    guessed = with_pseudo_groups(table)
    return {
        "metrics": {name: one._asdict() for name, one in _numbers(table).items()},
        **class_numbers(table, names.all_classes(table), training_images),
        "groups": {name: [row._asdict() for row in group_table(table, name)] for name in table.bias},
        "missing": None if table.bias else MISSING,
        "pseudo_groups": guessed and {name: one._asdict() for name, one in _numbers(guessed).items()},
    }


def _classes(table: Predictions, names: Names, training_images: Sequence[int]) -> list[str]:
    """Each class, what it is taken for where there are few of them, and the answer that needs no model."""
    by_class = {"right": table}
    lines = [[line.label, *_cells(line.accuracy["right"])] for line in class_lines(by_class, names)]
    parts = [text_table([["class", "right", "95 %", "n"], *lines])]
    if found := matrix(table, names):
        head = ["class \\ said", *found.labels]
        counts = [[label, *map(str, row)] for label, row in zip(found.labels, found.counts, strict=True)]
        parts += ["", text_table([head, *counts])]
    else:
        frequent = [[label, said, str(n)] for label, said, n in mistakes(table, names)]
        parts += ["", text_table([["most frequent mistakes", "taken for", "images"], *frequent])]
    if len(training_images):
        parts += ["", majority_sentence(majority(table, training_images), names)]
    return ["\n".join(f"  {line}".rstrip() for line in part.splitlines()) for part in parts]


def _cells(one: Measured) -> list[str]:
    return [percent(one.value), span(one), f"{one.n:,}"]


def _numbers(table: Predictions) -> dict[str, Measured]:
    return measure(table) | measure_features(table)


def _lines(table: Predictions) -> list[str]:
    lines = [[name.replace("_", " "), *_shown(name, one)] for name, one in _numbers(table).items()]
    return [f"  {line}" for line in text_table(lines).splitlines()]


RETRIEVAL = ("recall", "map", "skew")  # shares, as `metrics.retrieval` names them


def retrieval_text(found: Retrieval) -> str:
    """One number a line."""
    numbers = [[name, *_shown(name, one)] for name, one in found.numbers.items()]
    return "\n".join(["Search by features:", *(f"  {line}" for line in text_table(numbers).splitlines())])


def retrieval_json(found: Retrieval) -> dict[str, Any]:
    """With the skew of each class, which is null where a class has no query."""
    by_class = {name: [[_number(value) for value in row] for row in rows] for name, rows in found.skew_by_class.items()}
    return {"retrieval": {name: one._asdict() for name, one in found.numbers.items()}, "skew_by_class": by_class}


def _number(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _shown(name: str, one: Measured) -> list[str]:
    metric = metric_of(name)
    share = metric.share if metric else name.partition(":")[0].partition("@")[0] in (*PROBES, *RETRIEVAL)
    style = ".1%" if share else ".3f"
    value, low, high = (format(number, style).replace("%", " %") for number in one[:3])
    return [value, low, "to", high, f"n = {one.n}"]


def comparison_text(first: Run, second: Run, numbers: Mapping[str, Difference]) -> str:
    """A line for each number, and what one may conclude."""
    names = [f"{_name(run)} (labels: {labels(run).cell})" for run in (first, second)]
    head = f"{names[1]} against {names[0]}, {numbers['accuracy'].n} images"
    lines = [["", "first", "second", "difference", "95 % interval", "p"]]
    for name, one in numbers.items():
        interval = f"{_points(one.low)} to {_points(one.high)}"
        shown = [percent(one.first), percent(one.second), _points(one.difference), interval]
        lines.append([name.replace("_", " "), *shown, _probability(one.p)])
    return "\n".join([head, text_table(lines), _verdict(numbers), ""])


def _verdict(numbers: Mapping[str, Difference]) -> str:
    name = "unbiased" if "unbiased" in numbers else "accuracy"
    one, kind = numbers[name], name.replace("accuracy", "overall")
    if not one.clear:
        return f"No clear difference in {kind} accuracy: two equally good models often differ by as much."
    better = "better" if one.difference > 0 else "worse"
    return f"The second run is {better} in {kind} accuracy. Other seeds of the same methods may differ."


def _name(run: Run) -> str:
    return "/".join(run.path.resolve().parts[-3:])


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
