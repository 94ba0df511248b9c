"""A finished run on images that it may be judged by, and what no judge without labels may see."""

from dataclasses import replace

from fairflac.build import load_method
from fairflac.data.base import BiasedDataset
from fairflac.engine import make_fabric
from fairflac.evaluate import predictions
from fairflac.predictions import Predictions
from fairflac.runs import Run


def predict(run: Run, data: BiasedDataset) -> Predictions:
    fabric = make_fabric()
    return predictions(load_method(run).to(fabric.device), data, fabric)


def without_labels(table: Predictions) -> Predictions:
    """What no rule sees, no rule can use."""
    return replace(table, bias={}, aligned={}, min_cell={}, repeats={})
