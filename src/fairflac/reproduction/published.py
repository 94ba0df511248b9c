"""What the paper printed: the tables of `published.toml`, by number or by speaking name, and its figures."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from fairflac.errors import unknown

Settings = Mapping[str, Any]


class PublishedValue(NamedTuple):
    """A printed number, in the unit of its table."""

    mean: float
    std: float | None = None  # over seeds, where it is printed


@dataclass(frozen=True)
class PublishedColumn:
    """What is measured in a column, and under which settings."""

    name: str
    metric: str | None = None  # ours; None: a column of ticks
    better: Literal["higher", "lower"] = "higher"
    test_on: str | None = None  # another test set than the dataset's own
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedRow:
    """One line of a table. Its name need not be unique: FLAC stands there once for each task loss."""

    name: str
    group: str | None = None  # the heading that the line stands under
    task: str | None = None  # L_task as printed: CE, Con. or Con.*
    method: str | None = None  # ours
    no_method: str | None = None  # why there is none
    dataset: str | None = None  # ours
    settings: Settings = field(default_factory=dict)
    ticks: Mapping[str, bool] = field(default_factory=dict)
    cells: Mapping[str, PublishedValue] = field(default_factory=dict)  # by column; a dash is absent
    note: str | None = None


@dataclass(frozen=True)
class PublishedTable:
    """One table of the paper."""

    name: str  # table2
    alias: str  # biased-mnist
    label: str  # in the source of the paper
    title: str
    unit: Literal["%", "share", "tick"]
    about: str  # what the numbers mean
    columns: tuple[PublishedColumn, ...]
    rows: tuple[PublishedRow, ...]
    ours: tuple[PublishedRow, ...] = ()  # rows that we add, without cells
    settings: Settings = field(default_factory=dict)

    def changes(self, row: PublishedRow, column: PublishedColumn) -> dict[str, Any]:
        """What the run behind a cell changes in the recipe of its dataset and method."""
        return {**self.settings, **row.settings, **column.settings}


class PaperFigure(NamedTuple):
    """A figure by the cells of a table whose runs it shows, of one seed each."""

    title: str
    drawing: str  # in our catalogue
    table: str
    rows: tuple[str, ...]
    columns: tuple[int, ...]


FIGURES = {
    "figure1": PaperFigure(
        "Distances from one central sample", "distances-from-centre", "table2", ("Vanilla (CE)", "FLAC (CE)"), (0,)
    ),
    "figure3": PaperFigure(
        "Similarities over S at the weakest and the strongest bias",
        "similarities",
        "table2",
        ("Vanilla (CE)", "FLAC (CE)"),
        (0, 3),
    ),
    "figure4": PaperFigure(
        "Nearest neighbours of a minority query", "nearest-neighbours", "table4", ("Vanilla (CE)", "FLAC (CE)"), (0,)
    ),
    "figure5": PaperFigure("Pairs in S per batch", "pairs-per-batch", "table2", ("FLAC (CE)",), (0, 1, 2, 3)),
}


def official_name(name: str) -> str:
    """`table2` for `table2` and `biased-mnist`, `figure1` for itself."""
    if name.startswith("figure"):
        return name if name in FIGURES else unknown("figure", name, FIGURES)
    return published(name).name


def published(name: str) -> PublishedTable:
    """A table by number (`table2`) or alias (`biased-mnist`)."""
    tables = _load_tables()
    by_alias = {table.alias: table for table in tables.values()}
    return tables.get(name) or by_alias.get(name) or unknown("table", name, [*tables, *by_alias])


def published_names() -> list[str]:
    """The tables in the order of the paper, `table1` first."""
    return list(_load_tables())


@cache
def _load_tables() -> dict[str, PublishedTable]:
    tables = tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))
    return {name: _table(name, **entry) for name, entry in tables.items()}


def _table(
    name: str, columns: list[Any], rows: list[Any], ours: Any = (), dataset: str | None = None, **rest: Any
) -> PublishedTable:
    return PublishedTable(
        name,
        columns=tuple(PublishedColumn(**column) for column in columns),
        rows=tuple(_row(**{"dataset": dataset, **row}) for row in rows),
        ours=tuple(_row(**{"dataset": dataset, **row}) for row in ours),
        **rest,
    )


def _row(cells: Mapping[str, Any] | None = None, **rest: Any) -> PublishedRow:
    return PublishedRow(cells={column: _value(cell) for column, cell in (cells or {}).items()}, **rest)


def _value(cell: float | list[float]) -> PublishedValue:
    return PublishedValue(*cell) if isinstance(cell, list) else PublishedValue(cell)


Scale = Literal["paper", "cpu"]
PAPER_SEEDS = 5  # "averages over five runs", Section 4


@dataclass(frozen=True)
class ReducedScale:
    """What is smaller than in the paper."""

    says: str = ""
    dataset: str | None = None
    settings: Settings = field(default_factory=dict)
    seeds: int = PAPER_SEEDS
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    like: Mapping[str, str] = field(default_factory=dict)  # of each dataset, the table whose changes hold

    def of(self, dataset: str | None) -> "ReducedScale":
        """The changes for a row of that dataset."""
        other = self.like.get(dataset or "")
        return reduced(other) if other else self

    def column_name(self, column: PublishedColumn) -> str:
        return str(self.columns.get(column.name, {}).get("name", column.name))

    def changes(self, table: PublishedTable, row: PublishedRow, column: PublishedColumn) -> dict[str, Any]:
        """As `PublishedTable.changes`, with what is smaller on top."""
        method, renamed = self.methods.get(row.method or "", {}), self.columns.get(column.name, {})
        layers = (table.settings, row.settings, column.settings, self.settings, renamed.get("settings", {}))
        return {key: value for layer in (*layers, method.get("settings", {})) for key, value in layer.items()}


PAPER = ReducedScale()


def reduced(table: str) -> ReducedScale:
    """The changes of the scale `cpu` for a table."""
    return _load_scales()[table]


@cache
def _load_scales() -> dict[str, ReducedScale]:
    tables = tomllib.loads(files(__package__).joinpath("scales.toml").read_text(encoding="utf-8"))
    return {name: ReducedScale(**tables[entry.get("same_as", name)]) for name, entry in tables.items()}
