"""Which runs can be compared: runs of the same data, the seeds of one setting averaged."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from fairflac.predictions import Predictions
from fairflac.report.tables import Row, rows
from fairflac.report.trained_on import data_of, is_result
from fairflac.runs import Run


@dataclass(frozen=True)
class Scores:
    """The numbers that need a known attribute."""

    unbiased: float
    aligned: float
    conflicting: float
    worst_group: float

    @property
    def gap(self) -> float:
        """How much the model loses where the attribute does not go with the class."""
        return self.aligned - self.conflicting


@dataclass(frozen=True)
class Model:
    """One method with one setting on one dataset."""

    name: str  # the method's, with the run id where one method has several settings
    method: str
    run: Run  # of the first seed
    rows: list[Row]  # one per seed
    accuracy: float
    scores: Scores | None  # None: the attribute is not known

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
    """The number of test images with equally large groups that would measure unbiased accuracy as precisely.

    A mean of G group accuracies has the variance p(1 - p) · Σ(1 / n_g) / G², as if there were G² / Σ(1 / n_g) images.
    """
    sizes = []
    for name, values in table.bias.items():
        n = np.unique(np.stack([table.y, values]), axis=1, return_counts=True)[1]
        sizes.append(n[n >= table.min_cell.get(name, 1)])
    return min((len(n) ** 2 / float((1 / n).sum()) for n in sizes if len(n)), default=float(len(table)))


def _model(name: str, members: list[tuple[Run, Row]]) -> Model:
    run, rows = members[0][0], [row for _, row in members]
    return Model(name, rows[0].method, run, rows, fmean(row.accuracy for row in rows), _scores(rows))


def _scores(seeds: list[Row]) -> Scores | None:
    means = []
    for name in ("unbiased", "aligned", "conflicting", "worst_group"):
        values = [getattr(row, name) for row in seeds]
        if None in values:
            return None
        means.append(fmean(values))
    return Scores(*means)
