"""Real runs of seconds, each trained once for all tests that ask for it."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import small_runs
from fairflac.config.run_config import resolve
from fairflac.runs.directory import Run, Workspace
from fairflac.training.pipeline import train_config


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Vanilla on coloured digits."""
    workspace = tmp_path_factory.mktemp("runs")
    run = train_config(small_runs.config(), Workspace(workspace, workspace, silent=True))
    assert run is not None
    return run


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes of images of odd sizes: bright above or below, and mostly red or blue, but for a third of each."""
    folder = tmp_path_factory.mktemp("data") / "photos"
    rng = np.random.default_rng(0)
    for label in ("above", "below"):
        (folder / label).mkdir(parents=True)
        for i in range(36):
            image = rng.integers(0, 50, (26 + i % 5, 30 + i % 7, 3), dtype=np.uint8)
            half = len(image) // 2
            image[slice(0, half) if label == "above" else slice(half, None)] += np.uint8(80)
            red = (label == "above") == (i % 3 > 0)
            image[..., 0 if red else 2] += np.uint8(120)
            Image.fromarray(image).save(folder / label / f"{i:02}.png")
    return folder


@pytest.fixture(scope="session")
def folder_run(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """FLAC-B on a folder: no attribute is known, and files are decoded larger than the network sees them."""
    workspace = tmp_path_factory.mktemp("runs")
    changes = {"path": str(photos), "size": 16, "epochs": 12, "lr": 0.02, "net": "simple-conv", "kernel_size": 3}
    changes |= {"channels": [2, 2, 2, 2], "batch_size": 8, "precision": "32-true", "augment": "none", "alpha": 0.1}
    run = train_config(resolve("folder", "flac-b", 0, changes), Workspace(workspace, workspace, silent=True))
    assert run is not None
    return run
