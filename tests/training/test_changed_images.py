"""A run goes by position in one list of images: another list is refused, and not taken for the first."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from fairflac.config.run_config import resolve
from fairflac.data.own.folder import Folder
from fairflac.errors import UserError
from fairflac.metrics.comparison import compare
from fairflac.reporting.results import on_the_same_images
from fairflac.runs.directory import Run, Workspace
from fairflac.training.pipeline import train_config
from program import Program, refused

CHANGES = {"size": 16, "epochs": 1, "net": "simple-conv", "kernel_size": 3, "channels": [2, 2, 2, 2], "batch_size": 8}


def trained(photos: Path, workspace: Path, seed: int = 0, resume: bool = True) -> Run:
    config = resolve("folder", "vanilla", seed, {**CHANGES, "path": str(photos), "precision": "32-true"})
    run = train_config(config, Workspace(workspace, workspace, silent=True), resume=resume)
    assert run is not None
    return run


@pytest.fixture
def own(photos: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(photos, tmp_path / "photos"))


def test_a_finished_run_is_not_taken_for_one_of_other_images(own: Path, tmp_path: Path) -> None:
    run = trained(own, tmp_path)
    assert trained(own, tmp_path).path == run.path
    (own / "above" / "00.png").rename(own / "below" / "99.png")
    with pytest.raises(UserError, match=r"other images, labels, splits or groups .* train it anew"):
        trained(own, tmp_path)
    assert trained(own, tmp_path, resume=False).done
    (run.path / "done").unlink()  # as if it had been stopped before its end
    (own / "below" / "99.png").unlink()
    with pytest.raises(UserError, match="other images"):
        trained(own, tmp_path)


def test_a_folder_that_could_not_be_found_again(own: Path, tmp_path: Path) -> None:
    odd = own.rename(tmp_path / os.fsdecode(b"photos\xff"))
    with pytest.raises(UserError, match=r"no text in UTF-8.*rename"):
        trained(odd, tmp_path)


def test_seeds_have_other_test_images(program: Program, own: Path, tmp_path: Path) -> None:
    """Their classes come in the same order, which once was taken for the same images."""
    first, second = (trained(own, tmp_path, seed) for seed in (0, 1))
    names = [Folder(seed, path=own, size=16).load(tmp_path, "test").names.tolist() for seed in (0, 1)]  # type: ignore[union-attr]
    assert names[0] != names[1] and np.array_equal(first.predictions.y, second.predictions.y)
    with pytest.raises(UserError, match="different images"):
        compare(first.predictions, second.predictions)
    refused(program("compare", first.path, second.path), "different images")
    assert list(on_the_same_images({"a": first.predictions, "b": second.predictions})) == ["a"]
