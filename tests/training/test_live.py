"""Images that are decoded whenever they are needed make the same runs as those that were decoded once."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairflac.config.run_config import resolve
from fairflac.errors import Stopped, UserError
from fairflac.runs.directory import Run, Workspace, find_runs
from fairflac.training.engine import Training
from fairflac.training.pipeline import train_config

TINY = {
    "size": 16, "epochs": 3, "net": "simple-conv", "kernel_size": 3, "channels": [2, 2, 2, 2], "batch_size": 8,
    "augment": "crop-flip", "precision": "32-true",
}  # fmt: skip


def trained(photos: Path, root: Path, decode: str, **more: Any) -> Run:
    config = resolve("folder", "flac-b", 0, {**TINY, **more, "path": str(photos), "decode": decode})
    run = train_config(config, Workspace(root, root, silent=True))
    assert run is not None
    return run


def content(run: Run) -> dict[str, np.ndarray]:
    with np.load(run.path / "predictions.npz") as stored:
        return {name: stored[name] for name in stored.files}


def assert_same(run: Run, other: Run) -> None:
    mine, its = content(run), content(other)
    assert mine.keys() == its.keys() and all(np.array_equal(mine[name], its[name]) for name in mine)
    for path in filter(Path.exists, (run.bias_features, run.gallery)):
        assert path.read_bytes() == (other.path / path.name).read_bytes()


@pytest.mark.parametrize("bias_features", ["cached", pytest.param("live", marks=pytest.mark.slow)])
def test_both_ways_give_the_same_bits_also_after_a_stop(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bias_features: str
) -> None:
    once = trained(photos, tmp_path / "once", "once", bias_features=bias_features)
    maybe_save = Training._maybe_save

    def stop_in_the_second_epoch(training: Training, stop: threading.Event) -> None:
        if training.config.method == "flac-b" and (training.state.epoch, training.state.step) == (1, 2):
            stop.set()
        maybe_save(training, stop)

    monkeypatch.setattr(Training, "_maybe_save", stop_in_the_second_epoch)
    with pytest.raises(Stopped):
        trained(photos, tmp_path / "live", "live", bias_features=bias_features)
    assert not any("decode" in one.name for one in threading.enumerate())
    monkeypatch.undo()
    live = trained(photos, tmp_path / "live", "live", bias_features=bias_features)
    assert_same(once, live)
    assert not list((tmp_path / "live" / "cache").glob("*.npy"))


def test_an_image_that_is_lost_in_the_middle_is_one_line(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(shutil.copytree(photos, tmp_path / "photos"))
    step = Training._step

    def lose_all(training: Training, index: Any) -> None:
        if training.state.epoch == 1:
            shutil.rmtree(own)
            own.mkdir()
        step(training, index)

    monkeypatch.setattr(Training, "_step", lose_all)
    with pytest.raises(UserError, match=r"photos/\w+/\d+.png' can no longer be read .*same command again"):
        trained(own, tmp_path, "live")
    assert not any("decode" in one.name for one in threading.enumerate())


@pytest.mark.slow
def test_two_processes_give_the_same_bits_both_ways(photos: Path, tmp_path: Path) -> None:
    settings = {**TINY, "channels": "[2, 2, 2, 2]", "path": str(photos)}
    for decode in ("once", "live"):
        words = [word for key, value in {**settings, "decode": decode}.items() for word in ("--set", f"{key}={value}")]
        places = ["--runs", str(tmp_path / decode), "--data", str(tmp_path / decode)]
        command = [sys.executable, "-m", "fairflac", "train", "folder", "flac-b", "--devices", "2", "--no-report"]
        done = subprocess.run([*command, *places, *words], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
    once, live = (
        next(run for run in find_runs(tmp_path / decode) if run.config["method"] == "flac-b")
        for decode in ("once", "live")
    )
    assert live.env["processes"] == 2
    assert_same(once, live)
