"""Make the runs of a grid, those that are not there yet."""

import json
from collections.abc import Sequence

from fairflac.config.run_config import RunConfig
from fairflac.errors import UserError
from fairflac.metrics import summary
from fairflac.reproduction.execute.executor import Executor, overall
from fairflac.reproduction.fill import elsewhere
from fairflac.reproduction.plan import Grid, jobs_for
from fairflac.runs.directory import Run
from fairflac.system.files import write_text
from fairflac.training.build import load_config, load_method, load_other
from fairflac.training.engine import make_fabric
from fairflac.training.evaluate import predictions
from fairflac.training.pipeline import Place


def make(label: str, configs: Sequence[RunConfig], place: Place, executor: Executor) -> dict[str, str]:
    """Train what is not trained; the reasons for what failed, by run folder."""
    missing = [config for config in configs if not place.run(config).done]  # what is done needs no bias model any more
    jobs = [job for job in jobs_for(missing) if not place.run(job.config).done]
    if not jobs:
        return {}
    with overall(label, jobs, silent=place.silent) as watch:
        return executor.run(jobs, place, watch)


def measure_elsewhere(grid: Grid, place: Place) -> dict[str, str]:
    """Measure the models of columns that have another test set, which stays in their run directories."""
    failures: dict[str, str] = {}
    for slot in (slot for cells in grid.rows.values() for slot in cells if slot.test_on):
        for config in slot.configs:
            run = place.run(config)
            assert slot.test_on is not None
            if run.done and not elsewhere(run, slot.test_on).exists():
                try:
                    _measure(run, slot.test_on, place)
                except UserError as error:
                    failures[config.folder] = str(error)
    return failures


def _measure(run: Run, dataset: str, place: Place) -> None:
    config, method = load_config(run), load_method(run)
    data = load_other(dataset, {}, method.spec, config.seed or 0, place.data, "test")
    assert data is not None
    fabric = make_fabric()
    numbers = summary(predictions(method.to(fabric.device), data, fabric))
    write_text(elsewhere(run, dataset), json.dumps(numbers, indent=1))
