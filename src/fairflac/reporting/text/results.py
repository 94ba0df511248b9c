"""What one table of predictions says, and two side by side, as text and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairflac.metrics import Measured, group_table, measure
from fairflac.metrics.classes import class_numbers, majority
from fairflac.metrics.comparison import CLEAR, Difference
from fairflac.metrics.evidence import with_pseudo_groups
from fairflac.metrics.groups import SMALL
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import PROBES, measure_features
from fairflac.metrics.scores import metric_of, percent
from fairflac.reporting.naming import Names, labels
from fairflac.reporting.sections.results import class_lines, majority_sentence, matrix, mistakes
from fairflac.reporting.text.tables import aligned, span
from fairflac.runs.directory import Run

MISSING = "the attribute is not known, so nothing can be said about groups of class and attribute"
PSEUDO = "with what the bias model named in place of the attribute (pseudo-groups: a hint, no evidence)"


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
    parts = [aligned([["class", "right", "95 %", "n"], *lines])]
    if found := matrix(table, names):
        head = ["class \\ said", *found.labels]
        counts = [[label, *map(str, row)] for label, row in zip(found.labels, found.counts, strict=True)]
        parts += ["", aligned([head, *counts])]
    else:
        frequent = [[label, said, str(n)] for label, said, n in mistakes(table, names)]
        parts += ["", aligned([["most frequent mistakes", "taken for", "images"], *frequent])]
    if len(training_images):
        parts += ["", majority_sentence(majority(table, training_images), names)]
    return ["\n".join(f"  {line}".rstrip() for line in part.splitlines()) for part in parts]


def _cells(one: Measured) -> list[str]:
    return [percent(one.value), span(one), f"{one.n:,}"]


def _numbers(table: Predictions) -> dict[str, Measured]:
    return measure(table) | measure_features(table)


def _lines(table: Predictions) -> list[str]:
    numbers = _numbers(table)
    width = max(map(len, numbers))
    return [f"  {name.replace('_', ' '):{width}}  {_shown(name, one)}" for name, one in numbers.items()]


def _shown(name: str, one: Measured) -> str:
    metric = metric_of(name)
    share = metric.share if metric else name.partition(":")[0] in PROBES
    style = ".1%" if share else ".3f"
    value, low, high = (format(number, style).replace("%", " %") for number in one[:3])
    return f"{value:>7}  {low:>7} to {high:>7}  n = {one.n}"


def comparison_text(first: Run, second: Run, numbers: Mapping[str, Difference]) -> str:
    """A line for each number, and what one may conclude."""
    names = [f"{_name(run)} (labels: {labels(run).cell})" for run in (first, second)]
    width = max(map(len, numbers))
    head = f"{names[1]} against {names[0]}, {numbers['accuracy'].n} images"
    lines = [f"{'':{width}}  {'first':>8}  {'second':>8}  {'difference':>10}  {'95 % interval':>17}  {'p':>7}"]
    for name, one in numbers.items():
        interval = f"{_points(one.low)} to {_points(one.high)}"
        shown = f"{percent(one.first):>8}  {percent(one.second):>8}  {_points(one.difference):>10}  {interval:>17}"
        lines.append(f"{name.replace('_', ' '):{width}}  {shown}  {_probability(one.p):>7}")
    return "\n".join([head, *lines, _verdict(numbers), ""])


def _verdict(numbers: Mapping[str, Difference]) -> str:
    name = "unbiased" if "unbiased" in numbers else "accuracy"
    one, kind = numbers[name], name.replace("accuracy", "overall")
    if one.p >= CLEAR:
        return f"No clear difference in {kind} accuracy: one as large is common between two models that are alike."
    better = "better" if one.difference > 0 else "worse"
    return f"The second run is {better} in {kind} accuracy: these two trained models, that is; other seeds may differ."


def _name(run: Run) -> str:
    return "/".join(run.path.resolve().parts[-3:])


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
