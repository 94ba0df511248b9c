"""The groups of class and attribute value, all models side by side."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairflac.metrics import Measured, group_table
from fairflac.predictions import Predictions
from fairflac.report.names import Names


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
        for line in group_table(table, attribute).to_dict("records"):
            key = int(line["y"]), int(line["bias"])
            group = groups.setdefault(
                key,
                Group(
                    names.of_class(key[0]),
                    names.of_value(attribute, key[1]),
                    bool(line["aligned"]),
                    int(line["n"]),
                    bool(line["small"]),
                    {},
                    {},
                ),
            )
            group.accuracy[model] = Measured(line["accuracy"], line["low"], line["high"], group.n)
            value, low, high = (line[f"calibration_{part}"] for part in ("error", "low", "high"))
            group.calibration[model] = Measured(value, low, high, group.n)
    return GroupTable(attribute.replace("_", " "), list(tables), [groups[key] for key in sorted(groups)])
