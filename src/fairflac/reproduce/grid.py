"""From a table of the paper to the runs behind each of its cells."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairflac.config import RunConfig, resolve
from fairflac.errors import UserError, unknown
from fairflac.reproduce.filled import Head
from fairflac.reproduce.published import Column, PublishedTable, Row, Value
from fairflac.reproduce.scales import PAPER, PAPER_SEEDS, Reduced, Scale, reduced

DIGITS = {"%": 1, "share": 3}


@dataclass(frozen=True)
class Slot:
    """One cell to be filled."""

    configs: tuple[RunConfig, ...]  # one per seed; none where the paper has a dash
    metric: str
    test_on: str | None = None
    published: Value | None = None
    missing: str = ""  # why there are no configs


@dataclass(frozen=True)
class Grid:
    """All cells of a table."""

    table: PublishedTable
    scale: Scale
    says: str  # what is smaller than in the paper
    heads: tuple[Head, ...]
    rows: dict[str, tuple[Slot, ...]]

    @property
    def factor(self) -> float:
        """From our metrics, which are shares, to the unit of the table."""
        return 100.0 if self.table.unit == "%" else 1.0

    def configs(self) -> list[RunConfig]:
        """Every run once, row by row."""
        slots = (slot for cells in self.rows.values() for slot in cells)
        return list({config.folder: config for slot in slots for config in slot.configs}.values())


def plan(
    table: PublishedTable,
    scale: Scale,
    *,
    only: Sequence[str] = (),
    q: Sequence[float] = (),
    seeds: int | None = None,
) -> Grid:
    """The cells of a table, or of the rows of some methods and the columns of some q."""
    changed = PAPER if scale == "paper" else reduced(table.name)
    columns = _columns(table, changed, q)
    count = seeds or (PAPER_SEEDS if scale == "paper" else changed.seeds)
    rows = {}
    for row in _rows(table, only):
        own = changed.of(row.dataset)
        rows[label(row, own)] = tuple(_slot(table, row, column, own, count) for column in columns)
    heads = tuple(_head(table, column, changed.column_name(column)) for column in columns)
    return Grid(table, scale, changed.says, heads, rows)


def _head(table: PublishedTable, column: Column, name: str) -> Head:
    return Head(name, DIGITS[table.unit], column.better == "lower", "" if name == column.name else column.name)


def label(row: Row, changed: Reduced = PAPER) -> str:
    """What a row is called: a method may stand there once for each task loss."""
    if changed.replaces(row):
        name = str(changed.methods[row.method or ""]["name"])
    else:
        name = f"{row.name} ({row.task})" if row.task else row.name
    return f"{row.group}: {name}" if row.group else name


def _rows(table: PublishedTable, only: Sequence[str]) -> list[Row]:
    methods = {row.method for row in table.rows if row.method}
    for name in only:
        if name not in methods:
            unknown(f"method of {table.name}", name, methods)
    return [row for row in table.rows if row.method and (not only or row.method in only)]


def _columns(table: PublishedTable, changed: Reduced, q: Sequence[float]) -> list[Column]:
    """Of the q in the column's name, the paper's or that of the scale."""
    if not q:
        return list(table.columns)
    names = {column.name: {column.name, changed.column_name(column)} for column in table.columns}
    wanted = {f"q={value:g}" for value in q}
    known = set().union(*names.values())
    if not any(name.startswith("q=") for name in known):
        raise UserError(f"{table.name} has no columns of different q: leave out --q")
    for name in wanted - known:
        unknown(f"column of {table.name}", name, known)
    # A name may mean one q in the paper and another here: what is printed decides.
    shown = [column for column in table.columns if changed.column_name(column) in wanted]
    return shown or [column for column in table.columns if column.name in wanted]


def _slot(table: PublishedTable, row: Row, column: Column, changed: Reduced, seeds: int) -> Slot:
    assert row.method is not None and column.metric is not None
    value = row.cells.get(column.name)
    if value is None:
        return Slot((), column.metric, missing="the paper has no such run")
    dataset = changed.dataset or row.dataset
    assert dataset is not None
    changes = changed.changes(table, row, column)
    configs = tuple(resolve(dataset, row.method, seed, changes) for seed in range(seeds))
    return Slot(configs, column.metric, column.test_on, None if changed.replaces(row) else value)
