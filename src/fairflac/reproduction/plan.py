"""From a table of the paper to the runs behind each of its cells."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

from fairflac.config.run_config import RunConfig, resolve
from fairflac.errors import UserError, unknown
from fairflac.reproduction.published import (
    FIGURES,
    PAPER,
    PAPER_SEEDS,
    Column,
    PublishedTable,
    Reduced,
    Row,
    Scale,
    Value,
    published,
    reduced,
)


@dataclass(frozen=True)
class Cell:
    """Our results, one per seed, in the unit of the paper, and the paper's own."""

    values: tuple[float, ...]
    published: Value | None
    missing: str = ""  # why there are no values, or fewer than planned

    @property
    def mean(self) -> float | None:
        return fmean(self.values) if self.values else None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.mean is None or self.published is None else self.mean - self.published.mean

    @property
    def std(self) -> float | None:
        """Over seeds, of the sample."""
        return stdev(self.values) if len(self.values) > 1 else None


class Head(NamedTuple):
    """A column."""

    name: str
    digits: int = 1
    lower_is_better: bool = False
    paper_name: str = ""  # of the paper's column, where ours has other settings and another name


@dataclass(frozen=True)
class Filled:
    """Rows times columns."""

    name: str
    title: str
    reduced: bool  # not the paper's protocol, so its numbers cannot be compared with ours
    heads: tuple[Head, ...]
    rows: dict[str, tuple[Cell, ...]]  # a cell for each head
    notes: tuple[str, ...]  # what a reader must know: scale, selection, seeds, hardware

    def best(self, column: int, *, published: bool = False) -> float | None:
        """The best number of a column, as it is printed; None if there are not two to compare."""
        head = self.heads[column]
        found = [self.printed(cells[column], head, published=published) for cells in self.rows.values()]
        numbers = [number for number in found if number is not None]
        if len(numbers) < 2:
            return None
        return min(numbers) if head.lower_is_better else max(numbers)

    @staticmethod
    def printed(cell: Cell, head: Head, *, published: bool = False) -> float | None:
        """A mean as rounded as readers see it: equal to the eye is equal."""
        value = cell.published.mean if published and cell.published else None if published else cell.mean
        return None if value is None or math.isnan(value) else round(value, head.digits)

    def records(self) -> Iterator[dict[str, Any]]:
        """One flat record per cell, for programs."""
        for row, cells in self.rows.items():
            for head, cell in zip(self.heads, cells, strict=True):
                published = cell.published
                yield {
                    "table": self.name,
                    "scale": "cpu" if self.reduced else "paper",
                    "row": row,
                    "column": head.name,
                    "paper_column": head.paper_name or head.name,
                    "mean": cell.mean,
                    "std": cell.std,
                    "n": len(cell.values),
                    "values": list(cell.values),
                    "paper_mean": published.mean if published else None,
                    "paper_std": published.std if published else None,
                    "difference": None if self.reduced else cell.difference,
                    "missing": cell.missing or None,
                }


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


@dataclass(frozen=True)
class Job:
    """One run to make."""

    config: RunConfig

    @property
    def key(self) -> str:
        """The run's folder below that of all runs."""
        return self.config.folder

    @property
    def needs(self) -> str | None:
        """The key of the run that must be done before."""
        stage_one = self.config.stage_one()
        return stage_one.folder if stage_one else None


def jobs_for(configs: Iterable[RunConfig]) -> list[Job]:
    """All of these and their bias models, in an order in which they can be made."""
    found: dict[str, Job] = {}
    for config in configs:
        for stage in reversed([*_stages(config)]):
            found.setdefault(stage.folder, Job(stage))
    return list(found.values())


def _stages(config: RunConfig | None) -> Iterator[RunConfig]:
    """A run, its bias model, the bias model of that."""
    while config:
        yield config
        config = config.stage_one()


def figure_configs(name: str, scale: Scale) -> list[RunConfig]:
    """The runs that a figure shows, which are runs of its table."""
    figure = FIGURES[name]
    grid = plan(published(figure.table), scale, seeds=1)
    return [grid.rows[row][column].configs[0] for row in figure.rows for column in figure.columns]
