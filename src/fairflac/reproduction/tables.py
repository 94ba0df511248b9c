"""Tables from run directories, and as Markdown, LaTeX, CSV and JSON; Table 1 from what methods declare."""

import csv
import io
import json
import math
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from fairflac.config.run_config import resolve
from fairflac.methods import METHODS
from fairflac.reporting.provenance import SELECTION, machines
from fairflac.reproduction.plan import ColumnHead, PlannedCell, TablePlan
from fairflac.reproduction.published import PublishedValue
from fairflac.runs.directory import Run
from fairflac.system.parse import parse_json
from fairflac.system.progress import duration
from fairflac.system.tables import markdown_table

NOT_RUN = "not run"
FROM_SCRATCH = "from scratch: the ImageNet weights that the paper starts from were not there"


@dataclass(frozen=True)
class Cell:
    """Our results, one per seed, in the unit of the paper, and the paper's own."""

    values: tuple[float, ...]
    published: PublishedValue | None
    missing: str = ""  # why there are no values, or fewer than planned
    from_scratch: bool = False  # where the recipe starts from ImageNet weights

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


@dataclass(frozen=True)
class FilledTable:
    """Rows times columns."""

    name: str
    title: str
    reduced: bool  # not the paper's protocol, so its numbers cannot be compared with ours
    heads: tuple[ColumnHead, ...]
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
    def printed(cell: Cell, head: ColumnHead, *, published: bool = False) -> float | None:
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
                    "from_scratch": cell.from_scratch,
                }


def fill_table(grid: TablePlan, runs: Path, failures: Mapping[str, str] | None = None) -> FilledTable:
    """What the runs below a folder say; `failures` are reasons for runs that are not there, by their folders."""
    rows = {
        name: tuple(_filled_cell(planned, runs, failures or {}, grid.factor) for planned in cells)
        for name, cells in grid.rows.items()
    }
    number = grid.table.name.removeprefix("table")
    return FilledTable(
        name=grid.table.name,
        title=f"Table {number}: {grid.table.title}",
        reduced=grid.scale == "cpu",
        heads=grid.heads,
        rows=rows,
        notes=tuple(_notes(grid, runs)),
    )


def _filled_cell(planned: PlannedCell, runs: Path, failures: Mapping[str, str], factor: float) -> Cell:
    values, reasons = [], [planned.missing] if planned.missing else []
    for config in planned.configs:
        value = _value(Run(runs / config.folder), planned)
        if value is None:
            reasons.append(failures.get(config.folder, NOT_RUN))
        else:
            values.append(factor * value)
    if values and reasons:
        reasons = [f"{len(reasons)} of {len(planned.configs)} seeds: {reasons[0]}"]
    lacks = bool(values) and any(config.lacks_weights for config in planned.configs)
    return Cell(tuple(values), planned.published, reasons[0] if reasons else "", lacks)


def _value(run: Run, planned: PlannedCell) -> float | None:
    if not run.done:
        return None
    if planned.test_on is None:
        test = run.result["test"]
    else:
        path = result_on(run, planned.test_on)
        if not path.exists():
            return None
        test = parse_json(path.read_text())
    value = test.get(planned.metric)
    return None if value is None else float(value)


def result_on(run: Run, dataset: str) -> Path:
    """Where a run keeps its metrics on the test set of another dataset."""
    return run.path / f"result-on-{dataset}.json"


def _notes(grid: TablePlan, runs: Path) -> Iterable[str]:
    """What the numbers are, how they were chosen, and what they cost."""
    table = grid.table
    yield table.about
    if grid.says:
        yield f"scale cpu, which every number of ours is marked with: {grid.says}"
    yield "ours: mean ± standard deviation over seeds (number of seeds); bold: the best of a column"
    done = [run for config in grid.configs() if (run := Run(runs / config.folder)).done]
    if not done:
        return
    rules = {SELECTION.get(rule, rule) for run in done if (rule := run.result["selection"])}
    yield f"which weights were tested: {', '.join(sorted(rules))}"
    seconds = sum(run.result["seconds"] for run in done)
    yield f"{len(done)} runs, {duration(seconds)} of training without bias models; {'; '.join(machines(done))}"


NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class Style:
    """How one kind of page writes what both have."""

    bold: Callable[[str], str]
    mark: Callable[[str], str]  # of a note
    plus_minus: str
    minus: str
    escape: Callable[[str], str]


MARKDOWN = Style(
    "**{}**".format, "<sup>{}</sup>".format, " ± ", "\N{MINUS SIGN}", lambda text: text.replace("|", r"\|")
)
_LATEX_SPECIAL = {letter: "\\" + letter for letter in "%_&#${}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "≠": r"$\neq$",
    NOTHING: "--",
}
LATEX = Style(
    r"\textbf{{{}}}".format,
    r"\textsuperscript{{{}}}".format,
    r"$\pm$",
    "$-$",
    lambda text: "".join(_LATEX_SPECIAL.get(letter, letter) for letter in text),
)


def markdown(table: FilledTable) -> str:
    """Title, table, notes."""
    head, rows, reasons = _texts(table, MARKDOWN)
    body = markdown_table(head, rows, "<" + ">" * (len(head) - 1))
    below = "\n".join(f"- {note}" for note in (*table.notes, *reasons))
    return f"### {_title(table)}\n\n{body}\n\n{below}\n"


def latex(table: FilledTable) -> str:
    """A floating table with booktabs' rules; the notes are its caption's end and comments."""
    head, rows, reasons = _texts(table, LATEX)
    body = [" & ".join(cells) + r" \\" for cells in (head, *rows)]
    body.insert(1, r"\midrule")
    notes = " ".join(LATEX.escape(f"{note}.") for note in (*table.notes, *reasons))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{LATEX.escape(_title(table))}. {notes}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
            r"\toprule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def as_csv(table: FilledTable) -> str:
    """One line per cell."""
    records = list(table.records())
    out = io.StringIO()
    writer = csv.DictWriter(out, records[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**record, "values": " ".join(map(repr, record["values"]))} for record in records)
    return out.getvalue()


def as_json(table: FilledTable) -> str:
    page = {"table": table.name, "title": _title(table), "notes": table.notes, "cells": list(table.records())}
    return json.dumps(page, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[FilledTable], str]] = {"md": markdown, "tex": latex, "csv": as_csv, "json": as_json}


def _title(table: FilledTable) -> str:
    return table.title + (" \N{EM DASH} reduced scale, not the paper's protocol" if table.reduced else "")


def _texts(table: FilledTable, style: Style) -> tuple[list[str], list[list[str]], list[str]]:
    """ColumnHead, rows, and the reasons for gaps, each with the mark it has in the table."""
    reasons: dict[str, str] = {}  # reason → mark
    rows = []
    for name, cells in table.rows.items():
        row = [style.escape(name)]
        for column, (head, cell) in enumerate(zip(table.heads, cells, strict=True)):
            row += _cell(table, column, head, cell, style, reasons)
        rows.append(row)
    titles = ["method"]
    for shown in table.heads:
        theirs = ", ".join(filter(None, ["paper", shown.paper_name, "full scale" if table.reduced else ""]))
        titles += [style.escape(shown.name), style.escape(theirs)]
        titles += [] if table.reduced else ["difference"]
    return titles, rows, [f"{mark}: {reason}" for reason, mark in reasons.items()]


def _cell(
    table: FilledTable, column: int, head: ColumnHead, cell: Cell, style: Style, reasons: dict[str, str]
) -> Iterator[str]:
    """Ours, the paper's and, at full scale, how far apart they are."""
    ours = style.escape(NOTHING)
    if cell.mean is not None:
        ours = _number(cell.mean, cell.std, head, style)
        if table.printed(cell, head) == table.best(column):
            ours = style.bold(ours)
        ours += f" ({len(cell.values)}{', cpu' if table.reduced else ''})"
    for reason in filter(None, (cell.missing, FROM_SCRATCH if cell.from_scratch else "")):
        ours += style.mark(reasons.setdefault(reason, _mark(len(reasons))))
    yield ours
    yield _published(table, column, head, cell.published, style)
    if not table.reduced:
        yield _difference(cell.difference, head, style)


def _mark(number: int) -> str:
    """a to z, then aa, ab, …: when many runs fail, each has a reason of its own."""
    more, letter = divmod(number, len(string.ascii_lowercase))
    return (_mark(more - 1) if more else "") + string.ascii_lowercase[letter]


def _published(table: FilledTable, column: int, head: ColumnHead, value: PublishedValue | None, style: Style) -> str:
    if value is None:
        return style.escape(NOTHING)
    text = _number(value.mean, value.std, head, style)
    return style.bold(text) if round(value.mean, head.digits) == table.best(column, published=True) else text


def _number(mean: float, std: float | None, head: ColumnHead, style: Style) -> str:
    text = f"{mean:.{head.digits}f}"
    return text if std is None else f"{text}{style.plus_minus}{std:.{head.digits}f}"


def _difference(value: float | None, head: ColumnHead, style: Style) -> str:
    return style.escape(NOTHING) if value is None else f"{value:+.{head.digits}f}".replace("-", style.minus)


TICKS = {True: "✓", False: "✗", None: "n.a."}
COLUMNS = ("no labels in D", "no labels in D'", "non-categorical bias")
FIRST_STAGES = ("gce", "gce-committee")  # no competitors, but bias models of others


Ticks = tuple[bool, bool | None, bool]  # None: not applicable


def applicability() -> dict[str, Ticks]:
    """Of each method: without attribute labels of the data D, without any of other data D', for bias without values."""
    ticks: dict[str, Ticks] = {}
    for name, method in METHODS.items():
        if name in FIRST_STAGES:
            continue
        stage_one = resolve("biased-mnist", name).stage_one()
        elsewhere = stage_one is not None and stage_one.target != "class"  # a bias model that needs labels of its own
        in_d = not method.uses_bias_labels
        ticks[name] = (in_d, not elsewhere if in_d else None, in_d and not elsewhere)
    return ticks


def applicability_page() -> str:
    """As Markdown."""
    rows = [[name, *(TICKS[tick] for tick in row)] for name, row in applicability().items()]
    body = markdown_table(["method", *COLUMNS], rows, "<^^^")
    return f"### Table 1: Where each method can be applied\n\n{body}\n\n- D: the training data, D': any other data\n"


def applicability_json() -> str:
    """The same for programs; null: not applicable."""
    rows = [{"method": name, **dict(zip(COLUMNS, row, strict=True))} for name, row in applicability().items()]
    return json.dumps(rows, indent=1) + "\n"
