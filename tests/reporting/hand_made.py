"""Tables and images made by hand: a planted shortcut, no training."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from fairflac.metrics import summary
from fairflac.metrics.predictions import Predictions
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery, Samples

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


def photos(index: np.ndarray) -> Gallery:
    """Test images whose colour says which they are: red and green are the two digits of their index in base 200."""
    images = np.zeros((len(index), 6, 8, 3), dtype=np.uint8)
    images[..., 0], images[..., 1] = (index % 200)[:, None, None], (index // 200)[:, None, None]
    return Gallery(index, images, np.array([f"{i}.png" for i in index]))


def write_run(
    root: Path,
    method: str,
    predictions: Predictions,
    *,
    run_id: str = "0123456789",
    seed: int = 0,
    dataset: str = "toy",
    attribute_labels: float = 0.0,
    gallery: Gallery | None = None,
    history: list[dict[str, Any]] | None = None,
    results: dict[str, Any] | None = None,  # beside the usual ones
    **changes: Any,
) -> Run:
    """A run that is done; `changes` are of its config. Without gallery and history it is as old runs are."""
    config = {
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "target": "class",
        "data_options": {"q": 0.9, "validation": 0.0},
        "train": {"epochs": 7, "selection": "last"},
        **changes,
    }
    run = Run(root / dataset.replace("/", "_") / method.replace("/", "_") / f"{run_id}-s{seed}")
    run.begin(tomli_w.dumps(config), {"device": "cpu", "cpu": "Abacus", "cores": 2, "precision": "32-true"})
    pictures().save(run.samples)
    if gallery is not None:
        gallery.save(run.gallery)
    if history is not None:
        run.write_history(history)
    stage_one = config.get("bias_model")
    result = {
        "selection": "last",
        "test": summary(predictions),
        "seconds": 12.34,
        "attribute_labels": attribute_labels,
        "bias_model": "fedcba9876-s0" if stage_one else None,
        "bias_model_quality": {"agreement:hue": 0.875} if stage_one else {},
        **(results or {}),
    }
    run.finish(result, predictions)
    return run


def gallery(predictions: Predictions, step: int = 4, side: int = 8, names: str = "photo {}.png") -> Gallery:
    """Every so many images of a table; each is of one grey, which tells its row."""
    index = np.arange(0, len(predictions), step)
    images = np.broadcast_to((index % 256).astype(np.uint8)[:, None, None, None], (len(index), side, side, 3))
    return Gallery(index, images, np.array([names.format(i) for i in index]))
