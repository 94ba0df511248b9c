"""Runs with groups in place of a bias model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairflac.config.run_config import resolve
from fairflac.data.own.folder import list_folder
from fairflac.data.own.groups import GIVEN, write_groups
from fairflac.errors import UserError
from fairflac.runs.directory import Run, Workspace
from fairflac.training.pipeline import train_config
from planted_bars import draw_folder

TINY = {"size": 16, "epochs": 2, "net": "simple-conv", "kernel_size": 3, "channels": [2, 2, 2, 2], "batch_size": 16}
TINY |= {"precision": "32-true", "augment": "none"}


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_folder(tmp_path_factory.mktemp("data") / "bars", 40, 0.8)


def write(path: Path, photos: Path, leave_out: int = 0) -> Path:
    """The ground of each bar, which ends the name of its file; the first ten were given by a person."""
    listing = list_folder(photos)
    listing = listing.take(range(leave_out, len(listing.names)))
    grounds = [Path(name).stem[-1] for name in listing.names]
    write_groups(path, listing, {"guess": grounds, GIVEN: ["yes"] * 10 + ["no"] * (len(grounds) - 10)})
    return path


def trained(bars: Path, folder: Path, method: str, **changes: Any) -> Run:
    run = train_config(
        resolve("folder", method, 0, {"path": str(bars), **TINY, **changes}), Workspace(folder, folder, silent=True)
    )
    assert run is not None
    return run


@pytest.mark.parametrize(
    ("method", "changes"), [("flac", {"targets": "reachable", "balance": "batches"}), ("balanced", {})]
)
def test_a_run_needs_no_bias_model(bars: Path, tmp_path: Path, method: str, changes: dict[str, Any]) -> None:
    groups = write(tmp_path / "groups.csv", bars)
    run = trained(bars, tmp_path, method, groups=str(groups), **changes)
    assert run.config.get("bias_model") is None and len(list(tmp_path.rglob("done"))) == 1
    assert run.result["bias_model_quality"]["pairs"] > 0 and run.pairs_per_batch.exists()
    assert run.result["attribute_labels"] == pytest.approx(10 / 80)
    table = run.predictions
    assert table.guess is not None and table.guess_counts is not None
    assert run.result["guess_values"] == ["0", "1"]  # as the table calls them
    assert set(table.guess.tolist()) == {0, 1} and table.guess_counts.sum() + len(table) < 80  # some validate
    assert (table.guess == table.y).mean() > 0.6  # the ground goes with the class


def test_s_is_that_of_the_groups(bars: Path, tmp_path: Path) -> None:
    """With the true ground, S has all pairs of one class and two grounds, or the opposite."""
    run = trained(bars, tmp_path, "flac", groups=str(write(tmp_path / "groups.csv", bars)))
    counts = np.load(run.pairs_per_batch)
    assert (counts > 0).all() and (counts < 16 * 15).all()


def test_other_groups_are_another_training(bars: Path, tmp_path: Path) -> None:
    groups = write(tmp_path / "groups.csv", bars)
    trained(bars, tmp_path, "balanced", groups=str(groups))
    groups.write_text(groups.read_text().replace(",0,", ",x,"))
    with pytest.raises(UserError, match="other images, labels, splits or groups"):
        trained(bars, tmp_path, "balanced", groups=str(groups))


@pytest.mark.parametrize(
    ("method", "changes", "told"),
    [
        ("flac", {"bias_model.kind": "gce"}, "groups stand in for the bias model of 'flac'"),
        ("flac", {"bias_features": "live"}, "leave bias_features = 'cached'"),
        ("jtt", {}, "groups cannot stand in for it"),
    ],
)
def test_what_does_not_go_together(bars: Path, tmp_path: Path, method: str, changes: dict[str, str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        trained(bars, tmp_path, method, groups=str(tmp_path / "groups.csv"), **changes)


def test_every_image_that_is_trained_on_needs_a_value(bars: Path, tmp_path: Path) -> None:
    groups = write(tmp_path / "groups.csv", bars, leave_out=30)
    with pytest.raises(UserError, match=r"has no guess for 'lying/.*which is trained on"):
        trained(bars, tmp_path, "flac", groups=str(groups))
    assert not list(tmp_path.rglob("last.pt"))
    write(groups, bars)
    assert trained(bars, tmp_path, "flac", groups=str(groups)).done  # what was wrong is no begun run
