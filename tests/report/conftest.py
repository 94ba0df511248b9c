"""Small finished runs made by hand."""

from pathlib import Path
from typing import Any

import pytest
import tomli_w

from fairflac.metrics import summary
from fairflac.predictions import Predictions
from fairflac.runs import Run
from report.hand_made import MakeRun, pictures


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(
        method: str,
        predictions: Predictions,
        *,
        run_id: str = "0123456789",
        seed: int = 0,
        dataset: str = "toy",
        attribute_labels: float = 0.0,
        **changes: Any,
    ) -> Run:
        config = {
            "dataset": dataset,
            "method": method,
            "seed": seed,
            "target": "class",
            "data_options": {"q": 0.9, "validation": 0.0},
            "train": {"epochs": 7, "selection": "last"},
            **changes,
        }
        folder = dataset.replace("/", "_")
        run = Run(tmp_path / "runs" / folder / method.replace("/", "_") / f"{run_id}-s{seed}")
        run.begin(tomli_w.dumps(config), {"device": "cpu", "cpu": "Abacus", "cores": 2, "precision": "32-true"})
        pictures().save(run.samples)
        stage_one = config.get("bias_model")
        result = {
            "selection": "last",
            "test": summary(predictions),
            "seconds": 12.34,
            "attribute_labels": attribute_labels,
            "bias_model": "fedcba9876-s0" if stage_one else None,
            "bias_model_quality": {"agreement:hue": 0.875} if stage_one else {},
        }
        run.finish(result, predictions)
        return run

    return make


@pytest.fixture
def bias_model() -> dict[str, Any]:
    """The stage 1 of FLAC: the attribute, learnt from other data."""
    return {"dataset": "toy", "method": "vanilla", "target": "hue", "data_options": {"q": 0.25}}
