"""How a table is made: by the paper's protocol, or by a smaller one that two cores can do."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from fairflac.reproduction.paper.published import Column, PublishedTable, Row, Settings

Scale = Literal["paper", "cpu"]
PAPER_SEEDS = 5  # "averages over five runs", Section 4


@dataclass(frozen=True)
class Reduced:
    """What is smaller than in the paper."""

    says: str = ""
    dataset: str | None = None
    settings: Settings = field(default_factory=dict)
    seeds: int = PAPER_SEEDS
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    like: Mapping[str, str] = field(default_factory=dict)  # of each dataset, the table whose changes hold

    def of(self, dataset: str | None) -> "Reduced":
        """The changes for a row of that dataset."""
        other = self.like.get(dataset or "")
        return reduced(other) if other else self

    def column_name(self, column: Column) -> str:
        return str(self.columns.get(column.name, {}).get("name", column.name))

    def replaces(self, row: Row) -> bool:
        """Is another variant of the method trained than the paper's?"""
        return "instead" in self.methods.get(row.method or "", {})

    def changes(self, table: PublishedTable, row: Row, column: Column) -> dict[str, Any]:
        """As `PublishedTable.changes`, with what is smaller on top."""
        method, renamed = self.methods.get(row.method or "", {}), self.columns.get(column.name, {})
        own = method.get("instead", row.settings)
        layers = (table.settings, own, column.settings, self.settings, renamed.get("settings", {}))
        return {key: value for layer in (*layers, method.get("settings", {})) for key, value in layer.items()}


PAPER = Reduced()


def reduced(table: str) -> Reduced:
    """The changes of `--scale cpu` for a table."""
    return _load()[table]


@cache
def _load() -> dict[str, Reduced]:
    tables = tomllib.loads(files(__package__).joinpath("scales.toml").read_text(encoding="utf-8"))
    return {name: Reduced(**tables[entry.get("same_as", name)]) for name, entry in tables.items()}
