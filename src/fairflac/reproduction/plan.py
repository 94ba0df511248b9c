"""From a table or figure of the paper to the runs behind it, and how long these would take on this machine."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from fairflac.config.run_config import RunConfig, resolve
from fairflac.data import DATASETS
from fairflac.errors import UserError, unknown
from fairflac.methods import Method
from fairflac.reproduction.published import (
    FIGURES,
    PAPER,
    PAPER_SEEDS,
    PublishedColumn,
    PublishedRow,
    PublishedTable,
    PublishedValue,
    ReducedScale,
    Scale,
    published,
    published_names,
    reduced,
)
from fairflac.system.tables import text_table
from fairflac.training.build import build_method
from fairflac.training.precision import any_task, plain, seconds_per_image

DIGITS = {"%": 1, "share": 3}  # behind the point, by the unit of a table
UNKNOWN_SIZE = 32  # pixels a side, of a dataset that does not say
NO_RUNS = "table1"  # made from what methods declare


class ColumnHead(NamedTuple):
    """A column."""

    name: str
    digits: int = 1
    lower_is_better: bool = False
    paper_name: str = ""  # of the paper's column, where ours has other settings and another name


@dataclass(frozen=True)
class PlannedCell:
    """One cell to be filled."""

    configs: tuple[RunConfig, ...]  # one per seed; none where the paper has a dash
    metric: str
    test_on: str | None = None
    published: PublishedValue | None = None
    missing: str = ""  # why there are no configs


@dataclass(frozen=True)
class TablePlan:
    """All cells of a table."""

    table: PublishedTable
    scale: Scale
    says: str  # what is smaller than in the paper
    heads: tuple[ColumnHead, ...]
    rows: dict[str, tuple[PlannedCell, ...]]

    @property
    def factor(self) -> float:
        """From our metrics, which are shares, to the unit of the table."""
        return 100.0 if self.table.unit == "%" else 1.0

    def configs(self) -> list[RunConfig]:
        """Every run once, row by row."""
        cells = (cell for row in self.rows.values() for cell in row)
        return list({config.folder: config for cell in cells for config in cell.configs}.values())


def plan(
    table: PublishedTable,
    scale: Scale,
    *,
    only: Sequence[str] = (),
    q: Sequence[float] = (),
    seeds: int | None = None,
    data: Path | None = None,
) -> TablePlan:
    """The cells of a table, or of the rows of some methods and the columns of some q.

    `data` is the folder of datasets, see `resolve`.
    """
    changed = PAPER if scale == "paper" else reduced(table.name)
    columns = _columns(table, changed, q)
    count = seeds or (PAPER_SEEDS if scale == "paper" else changed.seeds)
    rows = {}
    for row in _rows(table, only):
        own = changed.of(row.dataset)
        rows[label(row)] = tuple(_planned_cell(table, row, column, own, count, data) for column in columns)
    heads = tuple(_head(table, column, changed.column_name(column)) for column in columns)
    return TablePlan(table, scale, changed.says, heads, rows)


def _head(table: PublishedTable, column: PublishedColumn, name: str) -> ColumnHead:
    return ColumnHead(name, DIGITS[table.unit], column.better == "lower", "" if name == column.name else column.name)


def label(row: PublishedRow) -> str:
    """What a row is called: a method may stand there once for each task loss."""
    name = f"{row.name} ({row.task})" if row.task else row.name
    return f"{row.group}: {name}" if row.group else name


def _rows(table: PublishedTable, only: Sequence[str]) -> list[PublishedRow]:
    rows = (*table.rows, *table.ours)
    methods = {row.method for row in rows if row.method}
    for name in only:
        if name not in methods:
            unknown(f"method of {table.name}", name, methods)
    return [row for row in rows if row.method and (not only or row.method in only)]


def _columns(table: PublishedTable, changed: ReducedScale, q: Sequence[float]) -> list[PublishedColumn]:
    """Of the q in the column's name, the paper's or that of the scale."""
    if not q:
        return list(table.columns)
    names = {column.name: {column.name, changed.column_name(column)} for column in table.columns}
    wanted = {f"q={value:g}" for value in q}
    known = set().union(*names.values())
    if not any(name.startswith("q=") for name in known):
        raise UserError(f"{table.name} has no columns of different q: leave out q")
    for name in wanted - known:
        unknown(f"column of {table.name}", name, known)
    # A name may mean one q in the paper and another here: what is printed decides.
    shown = [column for column in table.columns if changed.column_name(column) in wanted]
    return shown or [column for column in table.columns if column.name in wanted]


def _planned_cell(
    table: PublishedTable,
    row: PublishedRow,
    column: PublishedColumn,
    changed: ReducedScale,
    seeds: int,
    data: Path | None,
) -> PlannedCell:
    assert row.method is not None and column.metric is not None
    value = row.cells.get(column.name)
    if value is None and row not in table.ours:
        return PlannedCell((), column.metric, missing="the paper has no such run")
    dataset = changed.dataset or row.dataset
    assert dataset is not None
    changes = changed.changes(table, row, column)
    configs = tuple(resolve(dataset, row.method, seed, changes, data) for seed in range(seeds))
    return PlannedCell(configs, column.metric, column.test_on, value)


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


def figure_configs(name: str, scale: Scale, data: Path | None = None) -> list[RunConfig]:
    """The runs that a figure shows, which are runs of its table."""
    figure = FIGURES[name]
    grid = plan(published(figure.table), scale, seeds=1, data=data)
    return [grid.rows[row][column].configs[0] for row in figure.rows for column in figure.columns]


def hours(configs: Iterable[RunConfig]) -> float:
    """Of runs one after the other, on all cores."""
    return sum(map(seconds, configs)) / 3600


def seconds(config: RunConfig) -> float:
    """Of one run, without its bias model."""
    return image_passes(config) * seconds_per_image(_plain(config))


def image_passes(config: RunConfig) -> float:
    """How many images go through the network in a whole training."""
    return config.train.epochs * training_images(config) * _passes(config)


def training_images(config: RunConfig) -> int:
    """As the dataset says; 0 if it does not."""
    return DATASETS[config.dataset].expected_images(config.data_options) or 0


def _plain(config: RunConfig) -> RunConfig:
    usual = DATASETS[config.dataset].usual_size or UNKNOWN_SIZE
    return plain(config, config.data_options.get("size") or usual)


def _passes(config: RunConfig) -> float:
    """How often an image goes through the network: its views, and further networks by their size."""
    plain = _plain(config)
    own = {"dataset": plain.dataset, "data_options": plain.data_options, "net_options": plain.net_options}
    few = config.without_weights().model_copy(update={**own, "train": plain.train, "seed": None, "bias_model": None})
    return _relative_cost(few.model_dump_json(), plain.model_dump_json())


@cache
def _relative_cost(config: str, plain: str) -> float:
    method = _without_memory(config, plain)
    return method.num_views * _size(method) / _plain_size(plain)


@cache
def _plain_size(plain: str) -> int:
    return _size(_without_memory(plain, plain))


def _without_memory(config: str, plain: str) -> Method:
    full, bare = (RunConfig.model_validate_json(text) for text in (config, plain))
    with torch.device("meta"):
        return build_method(full, any_task(bare))


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@dataclass(frozen=True)
class Entry:
    """One table or figure."""

    name: str
    alias: str
    title: str
    datasets: list[str]
    runs: int  # bias models included
    hours: float  # estimated, one run after the other


def contents(scale: Scale, only: str | None = None) -> list[Entry]:
    """Tables, then figures, in the order of the paper; or one of them."""
    entries = []
    for name in published_names():
        if only not in (None, name):
            continue
        table = published(name)
        configs = [] if name == NO_RUNS else plan(table, scale).configs()
        entries.append(_entry(name, table.alias, table.title, configs))
    shown = {name: figure for name, figure in FIGURES.items() if only in (None, name)}
    return entries + [_entry(name, "", figure.title, figure_configs(name, scale)) for name, figure in shown.items()]


def _entry(name: str, alias: str, title: str, configs: list[RunConfig]) -> Entry:
    all_runs = [job.config for job in jobs_for(configs)]
    datasets = list(dict.fromkeys(config.dataset for config in all_runs))
    return Entry(name, alias, title, datasets, len(all_runs), round(hours(all_runs), 2))


def as_text(entries: list[Entry], scale: Scale) -> str:
    lines = [("", "", "needs", "runs", "hours", "")]
    for entry in entries:
        needs = ", ".join(entry.datasets) or "nothing"
        lines.append((entry.name, entry.alias, needs, str(entry.runs), f"{entry.hours:,.1f}", entry.title))
    body = text_table(lines, "<<<>><")
    return f"{body}\n\nScale {scale}. Hours are an estimate from a training step measured now, one run at a time."


def as_json(entries: list[Entry]) -> str:
    return json.dumps([asdict(entry) for entry in entries], indent=1)
