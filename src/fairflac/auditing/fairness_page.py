"""The fairness of predictions as a page that needs nothing else, as text for a terminal and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairflac import __version__
from fairflac.auditing.fairness import (
    Dependence,
    FairnessAudit,
    answer,
    contrast,
    group_name,
    main_attribute,
    surest_and_wrong,
)
from fairflac.auditing.frame import COMPARED, NumberRow, NumberTable, p_value, render_page
from fairflac.metrics import METRICS, Measured, MetricSummary
from fairflac.metrics.comparison import Difference
from fairflac.metrics.groups import SMALL, class_accuracy
from fairflac.metrics.scores import percent
from fairflac.reporting.text import span, with_range
from fairflac.system.files import write_text
from fairflac.system.tables import printable, text_table

FEW = 24  # groups that a terminal shows
RATES = {
    "accuracy": ("right", "Share of the rows that are named rightly."),
    "selection_rate": ("named {positive}", "Selection rate: how often {positive} is said, right or not."),
    "false_positive_rate": (
        "false alarms",
        "Of the rows that are not {positive}, those named so (false positive rate).",
    ),
    "false_negative_rate": ("misses", "Of the rows that are {positive}, those not named so (false negative rate)."),
}


def write(found: FairnessAudit, path: Path) -> None:
    write_text(path, render(found))


def render(found: FairnessAudit) -> str:
    main = main_attribute(found)
    return render_page(
        "predictions.html",
        alone=len(found.models) == 1,
        answer=answer(found),
        contrast=contrast(found),
        notes=found.file.notes,
        surest=_surest_table(found),
        comparisons=[_comparison(found, model) for model in found.models[1:]],
        attributes=[
            {
                "name": name.replace("_", " "),
                "open": name == main,
                "said": [_test_sentence(found, model, name) for model in found.models],
                "values": [_value_table(found, model, name) for model in found.models],
                "fairness": _fairness_table(found, name),
                "groups": _group_table(found, name),
            }
            for name in found.attributes
        ],
        classes=_class_table(found),
        small=SMALL,
        version=__version__,
    )


def _positive(found: FairnessAudit) -> str:
    """The class that rates are about, of two."""
    return f"“{found.file.names.classes[-1]}”"


def _surest_table(found: FairnessAudit) -> NumberTable | None:
    names, rows = found.file.names, []
    for model in found.models:
        table = found.file.tables[model]
        for row in surest_and_wrong(found, model):
            said, is_ = names.of_class(int(table.prediction[row])), names.of_class(int(table.y[row]))
            of = ", ".join(names.of_value(name, int(values[row])) for name, values in table.bias.items())
            rows.append(NumberRow(found.file.rows[row], [is_, f"“{said}”", percent(float(table.score[row]))], of))
    return NumberTable("", "row", ["is", "said", "how sure"], rows) if rows else None


def _test_sentence(found: FairnessAudit, model: str, attribute: str) -> str:
    one = found.dependence[model][attribute]
    who = "" if len(found.models) == 1 else f"{model}: "
    tested = (
        f"{who}p {_equals(one.p)}, the probability of groups that differ as much if being right had nothing to do with "
        f"the {attribute.replace('_', ' ')}, given the class (permutation test)."
    )
    if one.best is one.worst:
        return tested
    best, worst = (f"“{group_name(found.file, attribute, group)}”" for group in (one.best, one.worst))
    points = f"{100 * one.gap.value:.1f} points ({span(one.gap)}, n = {one.gap.n:,})"
    return f"{tested} Inside a class, {best} and {worst} differ most, by {points}."


def _equals(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith("<") else f"= {shown}"


def _value_table(found: FairnessAudit, model: str, attribute: str) -> NumberTable:
    """As fairlearn's `MetricFrame` has it, with intervals."""
    summary, positive = found.summaries[model][attribute], _positive(found)
    rates = [name for name in RATES if name in summary.overall]
    everybody = NumberRow("all", [summary.overall.get(name) for name in rates])
    rows = [
        NumberRow(found.file.names.of_value(attribute, int(str(value))), [numbers.get(name) for name in rates])
        for value, numbers in summary.by_group.items()
    ]
    said = " ".join(RATES[name][1].format(positive=positive) for name in rates)
    title = f"By {attribute.replace('_', ' ')}" + ("" if len(found.models) == 1 else f", {model}")
    heads = [RATES[name][0].format(positive=positive) for name in rates]
    return NumberTable(f"{said} With 95 % ranges.", attribute.replace("_", " "), heads, [everybody, *rows], title=title)


def _fairness_table(found: FairnessAudit, attribute: str) -> NumberTable:
    summaries = [found.summaries[model][attribute] for model in found.models]
    rows = [
        NumberRow(
            METRICS[name].title + (", gap" if name.endswith("_gap") else ""),
            [_shown(name, one.fairness[name]) if name in one.fairness else None for one in summaries],
            METRICS[name].meaning,
        )
        for name in summaries[0].fairness
    ]
    shown = attribute.replace("_", " ")
    columns = ["value"] if len(found.models) == 1 else found.models
    return NumberTable("With 95 % ranges.", "what", columns, rows, title=f"Fairness by {shown}, in numbers")


def _shown(name: str, number: Measured) -> Measured | str:
    if METRICS[name].share or METRICS[name].percent:
        return number
    return f"{number.value:.3f} ({number.low:.3f} to {number.high:.3f}, n = {number.n:,})"


def _group_table(found: FairnessAudit, attribute: str) -> NumberTable:
    by_model = [one[attribute].groups for one in found.dependence.values()]
    rows = [
        NumberRow(
            group_name(found.file, attribute, groups[0]),
            [group.accuracy for group in groups],
            mark="few" if groups[0].small else "",
        )
        for groups in zip(*by_model, strict=True)
    ]
    shown = attribute.replace("_", " ")
    return NumberTable(
        f"Share of the rows of each group that is named rightly, with 95 % ranges. “few”: fewer than {SMALL} rows, "
        "which say little.",
        f"class and {shown}",
        ["right"] if len(found.models) == 1 else found.models,
        rows,
        title=f"Groups of class and {shown}",
    )


def _class_table(found: FairnessAudit) -> NumberTable:
    by_model = [class_accuracy(table) for table in found.file.tables.values()]
    rows = [NumberRow(found.file.names.of_class(y), [one[y] for one in by_model]) for y in by_model[0]]
    columns = ["right"] if len(found.models) == 1 else found.models
    return NumberTable(
        "Share of the rows of each class that is named rightly, with 95 % ranges.", "class", columns, rows
    )


def _comparison(found: FairnessAudit, model: str) -> NumberTable:
    first = found.models[0]
    rows = [
        NumberRow(
            "all rows" if name == "accuracy" else f"groups of class and {name.replace('_', ' ')}, counting alike",
            [percent(one.first), percent(one.second), _points(one), p_value(one.p)],
        )
        for name, one in found.differences(model).items()
    ]
    title = f"{model} against {first}, row by row"
    return NumberTable(COMPARED, "rows", [first, model, "difference", "p"], rows, title=title)


def _points(one: Difference) -> str:
    ends = span(Measured(one.difference, one.low, one.high, one.n))
    return f"{100 * one.difference:+.1f} ({ends}, n = {one.n:,})"


def as_text(found: FairnessAudit) -> str:
    """The answer first, then a table for each attribute."""
    parts = [*answer(found), "", " ".join(found.file.notes)]
    parts += _lines(_class_table(found))
    for model in found.models[1:]:
        parts += _lines(_comparison(found, model))
    for name in found.attributes:
        parts += ["", *(_test_sentence(found, model, name) for model in found.models)]
        for model in found.models:
            parts += _lines(_value_table(found, model, name))
        parts += _lines(_fairness_table(found, name))
        groups = _group_table(found, name)
        many = f"All {len(groups.rows)} groups of class and {name.replace('_', ' ')}: --json, or -o for a page."
        parts += _lines(groups) if len(groups.rows) <= FEW else ["", many]
    return printable("\n".join(parts))


def _lines(table: NumberTable) -> list[str]:
    rows = [[f"{row.label}{' (few)' if row.mark else ''}", *map(_cell, row.cells)] for row in table.shown]
    return ["", text_table([[table.title or table.first, *table.columns], *rows])]


def _cell(one: Measured | str | None) -> str:
    return "not measured" if one is None else with_range(one) if isinstance(one, Measured) else one


def as_json(found: FairnessAudit) -> dict[str, Any]:
    file = found.file
    return {
        "predictions": file.source,
        "answer": answer(found),
        "notes": file.notes,
        "n": len(file.rows),
        "classes": file.names.classes,
        "attributes": {name: file.names.values[name] for name in found.attributes},
        "models": {
            model: {
                "class_accuracy": {
                    file.names.of_class(y): one._asdict() for y, one in class_accuracy(file.tables[model]).items()
                },
                "by_attribute": {
                    name: _attribute_json(found, name, found.dependence[model][name], found.summaries[model][name])
                    for name in found.attributes
                },
            }
            for model in found.models
        },
        "against_first": {
            model: {name: one._asdict() for name, one in found.differences(model).items()} for model in found.models[1:]
        },
    }


def _attribute_json(found: FairnessAudit, name: str, one: Dependence, summary: MetricSummary) -> dict[str, Any]:
    names = found.file.names
    numbers = summary.to_dict()
    by_value: Sequence[dict[str, Any]] = numbers["by_group"]
    return {
        "verdict": one.word,
        "p": one.p,
        "largest_gap": {
            "class": names.of_class(one.worst.y),
            "best": names.of_value(name, one.best.value),
            "worst": names.of_value(name, one.worst.value),
            **one.gap._asdict(),
        },
        "overall": numbers["overall"],
        "by_value": {names.of_value(name, each.pop(name)): each for each in by_value},
        "fairness": numbers["fairness"],
        "groups": [
            {"class": names.of_class(group.y), "value": names.of_value(name, group.value), **group.accuracy._asdict()}
            for group in one.groups
        ],
    }
