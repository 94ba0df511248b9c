"""Make the runs of a grid, those that are not there yet."""

import json
from collections.abc import Sequence

from fairflac.config.run_config import RunConfig
from fairflac.errors import UserError
from fairflac.metrics import summary
from fairflac.reproduction.plan import Grid, jobs_for
from fairflac.reproduction.scheduler import Executor, overall
from fairflac.reproduction.tables import elsewhere
from fairflac.runs.directory import Run, Workspace
from fairflac.system.files import write_text
from fairflac.training.build import load_config, load_method, load_other
from fairflac.training.pipeline import predict_run


def make(label: str, configs: Sequence[RunConfig], workspace: Workspace, executor: Executor) -> dict[str, str]:
    """Train what is not trained; the reasons for what failed, by run folder."""
    # What is done needs no bias model any more.
    missing = [config for config in configs if not workspace.run(config).done]
    jobs = [job for job in jobs_for(missing) if not workspace.run(job.config).done]
    if not jobs:
        return {}
    with overall(label, jobs, silent=workspace.silent) as watch:
        return executor.run(jobs, workspace, watch)


def measure_elsewhere(grid: Grid, workspace: Workspace) -> dict[str, str]:
    """Measure the models of columns that have another test set, which stays in their run directories."""
    failures: dict[str, str] = {}
    for slot in (slot for cells in grid.rows.values() for slot in cells if slot.test_on):
        for config in slot.configs:
            run = workspace.run(config)
            assert slot.test_on is not None
            if run.done and not elsewhere(run, slot.test_on).exists():
                try:
                    _measure(run, slot.test_on, workspace)
                except UserError as error:
                    failures[config.folder] = str(error)
    return failures


def _measure(run: Run, dataset: str, workspace: Workspace) -> None:
    data = load_other(dataset, {}, load_method(run).spec, load_config(run).seed or 0, workspace.data, "test")
    assert data is not None
    numbers = summary(predict_run(run, data))
    write_text(elsewhere(run, dataset), json.dumps(numbers, indent=1))
