"""Which runs can be compared: runs of the same data, the seeds of one setting together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairflac.metrics import scores
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.naming import data_of, is_result
from fairflac.reporting.text.tables import Row, rows
from fairflac.runs.directory import Run


@dataclass(frozen=True)
class Model:
    """One method with one setting on one dataset."""

    name: str  # the method's, with the run id where one method has several settings
    method: str
    run: Run  # of the first seed
    rows: list[Row]  # one per seed

    @property
    def seeds(self) -> int:
        return len(self.rows)


def by_data(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs that are results, by what they were trained on, in the order given."""
    parts: dict[str, list[Run]] = {}
    for run in filter(is_result, runs):
        parts.setdefault(data_of(run.config), []).append(run)
    return parts


def models(runs: Sequence[Run]) -> list[Model]:
    """The models among runs of the same data, in the order of their first run."""
    settings: dict[tuple[str, str], list[tuple[Run, Row]]] = {}
    for run, row in zip(runs, rows(runs), strict=True):
        settings.setdefault((row.method, row.run), []).append((run, row))
    methods = [method for method, _ in settings]
    return [
        _model(method if methods.count(method) == 1 else f"{method} ({run_id})", members)
        for (method, run_id), members in settings.items()
    ]


def effective_size(table: Predictions) -> float:
    """Of the attribute whose unbiased accuracy is measured least precisely; without one, the number of images."""
    sizes = []
    for name, values in table.bias.items():
        n = np.unique(np.stack([table.y, values]), axis=1, return_counts=True)[1]
        sizes.append(n[n >= table.min_cell.get(name, 1)])
    return min((scores.effective_size(n) for n in sizes if len(n)), default=float(len(table)))


def _model(name: str, members: list[tuple[Run, Row]]) -> Model:
    rows = [row for _, row in members]
    return Model(name, rows[0].method, members[0][0], rows)


def on_the_same_images(tables: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """The first model, and all that were tested on the images it was tested on."""
    first = next(iter(tables.values()))
    return {
        name: table
        for name, table in tables.items()
        if table.same_images(first) and table.bias.keys() == first.bias.keys()
    }
