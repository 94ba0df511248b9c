"""Tables and images made by hand: a planted shortcut, no training."""

from collections.abc import Callable

import numpy as np

from fairflac.predictions import Predictions
from fairflac.runs import Run
from fairflac.samples import Samples

CLASSES, PER_GROUP = 4, 20
MakeRun = Callable[..., Run]


def table(aligned: float, conflicting: float, attributes: tuple[str, ...] = ("hue",)) -> Predictions:
    """Every group of class and attribute PER_GROUP times, the given share of each right, the others named by hue."""
    rng = np.random.default_rng(0)
    grid = np.indices((CLASSES, CLASSES, PER_GROUP)).reshape(3, -1)
    y, hue, place = grid
    goes_together = y == hue
    right = place < np.where(goes_together, aligned, conflicting) * PER_GROUP - 1e-9
    wrong = np.where(goes_together, (y + 1) % CLASSES, hue)
    features = conflicting * np.eye(CLASSES)[y] + (1 - conflicting) * np.eye(CLASSES)[hue]
    return Predictions(
        index=np.arange(len(y)),
        y=y,
        prediction=np.where(right, y, wrong),
        score=np.ones(len(y), dtype=np.float32),
        features=(features + 0.1 * rng.random(features.shape)).astype(np.float32),
        bias=dict.fromkeys(attributes, hue),
        aligned=dict.fromkeys(attributes, goes_together),
    )


def pictures() -> Samples:
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(CLASSES), 3)
    return Samples(rng.integers(0, 256, (len(y), 8, 8, 3), dtype=np.uint8), y, np.tile([False, False, True], CLASSES))
