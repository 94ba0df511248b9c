"""Everything that one table of predictions says, as text and as JSON."""

from typing import Any

from fairflac.metrics import Measured, group_table, measure
from fairflac.metrics.features import measure_features
from fairflac.metrics.groups import SMALL
from fairflac.metrics.measure import ACCURACIES
from fairflac.metrics.pseudo import with_pseudo_groups
from fairflac.predictions import Predictions

# Of images; all other numbers are differences, ratios and the like.
SHARES = {*ACCURACIES, "class_probe", "attribute_probe"}
MISSING = "the attribute is not known, so nothing can be said about groups of class and attribute"
PSEUDO = "with what the bias model named in place of the attribute (pseudo-groups: a hint, no evidence)"


def as_text(table: Predictions) -> str:
    """One number a line, with its interval and how many images are behind it."""
    lines = _lines(table)
    for attribute in table.bias:
        if few := int(group_table(table, attribute).small.sum()):
            groups = "group" if few == 1 else "groups"
            lines.append(f"  {few} {groups} of class and {attribute} with fewer than {SMALL} images")
    if not table.bias:
        lines.append(f"  {MISSING}")
    if guessed := with_pseudo_groups(table):
        lines += [f"  {PSEUDO}:", *(f"  {line}" for line in _lines(guessed))]
    return "\n".join(lines)


def as_json(table: Predictions) -> dict[str, Any]:
    """`metrics` by name, `groups` by attribute; `missing` says what could not be measured, and why."""
    guessed = with_pseudo_groups(table)
    return {
        "metrics": {name: one._asdict() for name, one in _numbers(table).items()},
        "groups": {name: group_table(table, name).to_dict("records") for name in table.bias},
        "missing": None if table.bias else MISSING,
        "pseudo_groups": guessed and {name: one._asdict() for name, one in _numbers(guessed).items()},
    }


def _numbers(table: Predictions) -> dict[str, Measured]:
    return measure(table) | measure_features(table)


def _lines(table: Predictions) -> list[str]:
    numbers = _numbers(table)
    width = max(map(len, numbers))
    return [f"  {name.replace('_', ' '):{width}}  {_shown(name, one)}" for name, one in numbers.items()]


def _shown(name: str, one: Measured) -> str:
    style = ".1%" if name.partition(":")[0] in SHARES else ".3f"
    value, low, high = (format(number, style).replace("%", " %") for number in one[:3])
    return f"{value:>7}  {low:>7} to {high:>7}  n = {one.n}"
