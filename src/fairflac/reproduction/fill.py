"""Numbers for a table, from run directories alone."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairflac.reporting.sections.provenance import SELECTION, duration, machines
from fairflac.reproduction.plan import Cell, Filled, Grid, Slot
from fairflac.runs.directory import Run

NOT_RUN = "not run"


def fill(grid: Grid, runs: Path, failures: Mapping[str, str] | None = None) -> Filled:
    """What the runs below a folder say; `failures` are reasons for runs that are not there, by their folders."""
    rows = {
        name: tuple(_cell(slot, runs, failures or {}, grid.factor) for slot in slots)
        for name, slots in grid.rows.items()
    }
    number = grid.table.name.removeprefix("table")
    return Filled(
        name=grid.table.name,
        title=f"Table {number}: {grid.table.title}",
        reduced=grid.scale == "cpu",
        heads=grid.heads,
        rows=rows,
        notes=tuple(_notes(grid, runs)),
    )


def _cell(slot: Slot, runs: Path, failures: Mapping[str, str], factor: float) -> Cell:
    values, reasons = [], [slot.missing] if slot.missing else []
    for config in slot.configs:
        value = _value(Run(runs / config.folder), slot)
        if value is None:
            reasons.append(failures.get(config.folder, NOT_RUN))
        else:
            values.append(factor * value)
    if values and reasons:
        reasons = [f"{len(reasons)} of {len(slot.configs)} seeds: {reasons[0]}"]
    return Cell(tuple(values), slot.published, reasons[0] if reasons else "")


def _value(run: Run, slot: Slot) -> float | None:
    if not run.done:
        return None
    if slot.test_on is None:
        test = run.result["test"]
    else:
        path = elsewhere(run, slot.test_on)
        if not path.exists():
            return None
        test = json.loads(path.read_text())
    value = test.get(slot.metric)
    return None if value is None else float(value)


def elsewhere(run: Run, dataset: str) -> Path:
    """Where a run keeps its metrics on the test set of another dataset."""
    return run.path / f"result-on-{dataset}.json"


def _notes(grid: Grid, runs: Path) -> Iterable[str]:
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
