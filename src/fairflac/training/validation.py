"""A finished run on images that it may be judged by, and what no judge without labels may see."""

from dataclasses import replace

from fairflac.data.base import BiasedDataset
from fairflac.metrics.predictions import Predictions
from fairflac.runs.directory import Run
from fairflac.training.build import load_method
from fairflac.training.engine import make_fabric
from fairflac.training.evaluate import predictions


def predict(run: Run, data: BiasedDataset) -> Predictions:
    fabric = make_fabric()
    return predictions(load_method(run).to(fabric.device), data, fabric)


def without_labels(table: Predictions) -> Predictions:
    """What no rule sees, no rule can use."""
    return replace(table, bias={}, aligned={}, min_cell={}, repeats={})
