"""From the name of a table or figure to its files: make the runs that are not there yet, then write what they say."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairflac.config.run_config import RunConfig
from fairflac.errors import UserError
from fairflac.metrics import summary
from fairflac.reporting.figures import save_figures
from fairflac.reproduction.plan import TablePlan, figure_configs, jobs_for, plan
from fairflac.reproduction.published import FIGURES, Scale, published
from fairflac.reproduction.scheduler import Executor, overall_progress
from fairflac.reproduction.tables import FORMATS, applicability_json, applicability_page, fill_table, result_on
from fairflac.runs.directory import Run, Workspace
from fairflac.system.files import write_text
from fairflac.system.progress import tell
from fairflac.training.build import load_config, load_method, load_other
from fairflac.training.pipeline import predict_run


@dataclass(frozen=True)
class Reproduction:
    """What came out."""

    name: str
    files: tuple[Path, ...]
    text: dict[str, str] = field(default_factory=dict)  # of a table, by the ending of its file
    notes: tuple[str, ...] = ()  # of a figure: why there is none
    runs: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # reasons, by the folder of a run


def make_applicability(output: Path) -> Reproduction:
    """Table 1, which needs no runs."""
    text = {"md": applicability_page(), "json": applicability_json()}
    return Reproduction("table1", _write(output / "table1", text), text)


def make_figure(name: str, scale: Scale, workspace: Workspace, executor: Executor | None, output: Path) -> Reproduction:
    """Drawn from the runs that could be made; without an executor from those that are there."""
    configs = figure_configs(name, scale, workspace.data)
    failures = train_missing(name, configs, workspace, executor) if executor else {}
    done = [run for config in configs if (run := workspace.run(config)).done]
    if not done:
        raise UserError(f"no run of {name} is there: {next(iter(failures.values()), f'none in {workspace.runs}')}")
    for config in configs:
        if not workspace.run(config).done:
            tell(f"{name} is drawn without {config.folder}: {failures.get(config.folder, 'not run')}")
    folder = output / f"{name}-{scale}"
    lines = list(save_figures(done, folder, [FIGURES[name].drawing]))
    files = tuple(Path(line) for line in lines if line.startswith(str(folder)))
    notes = tuple(line for line in lines if not line.startswith(str(folder)))
    return Reproduction(name, files, {}, notes, len(configs), _failed(configs, failures))


def make_table(
    name: str,
    scale: Scale,
    only: list[str],
    q: list[float],
    seeds: int | None,
    workspace: Workspace,
    executor: Executor | None,
    output: Path,
) -> Reproduction:
    """FilledTable from the runs that could be made; without an executor from those that are there."""
    grid = plan(published(name), scale, only=only, q=q, seeds=seeds, data=workspace.data)
    configs, failures = grid.configs(), {}
    if executor:
        failures = train_missing(grid.table.name, configs, workspace, executor) | evaluate_on_others(grid, workspace)
    filled = fill_table(grid, workspace.runs, failures)
    text = {ending: write(filled) for ending, write in FORMATS.items()}
    files = _write(output / f"{grid.table.name}-{scale}", text)
    return Reproduction(name, files, text, (), len(configs), _failed(configs, failures))


def _write(stem: Path, text: dict[str, str]) -> tuple[Path, ...]:
    files = {stem.with_name(f"{stem.name}.{ending}"): content for ending, content in text.items()}
    for path, content in files.items():
        write_text(path, content)
    return tuple(files)


def _failed(configs: Sequence[RunConfig], failures: dict[str, str]) -> dict[str, str]:
    return {config.folder: failures[config.folder] for config in configs if config.folder in failures}


def train_missing(label: str, configs: Sequence[RunConfig], workspace: Workspace, executor: Executor) -> dict[str, str]:
    """Train what is not trained; the reasons for what failed, by run folder."""
    # What is done needs no bias model any more.
    missing = [config for config in configs if not workspace.run(config).done]
    jobs = [job for job in jobs_for(missing) if not workspace.run(job.config).done]
    if not jobs:
        return {}
    with overall_progress(label, jobs, silent=workspace.silent) as listener:
        return executor.run(jobs, workspace, listener)


def evaluate_on_others(grid: TablePlan, workspace: Workspace) -> dict[str, str]:
    """Measure the models of columns that have another test set, which stays in their run directories."""
    failures: dict[str, str] = {}
    for cell in (cell for row in grid.rows.values() for cell in row if cell.test_on):
        for config in cell.configs:
            run = workspace.run(config)
            assert cell.test_on is not None
            if run.done and not result_on(run, cell.test_on).exists():
                try:
                    _measure(run, cell.test_on, workspace)
                except UserError as error:
                    failures[config.folder] = str(error)
    return failures


def _measure(run: Run, dataset: str, workspace: Workspace) -> None:
    data = load_other(dataset, {}, load_method(run).spec, load_config(run).seed or 0, workspace.data, "test")
    assert data is not None
    numbers = summary(predict_run(run, data))
    write_text(result_on(run, dataset), json.dumps(numbers, indent=1))
