"""Stopping a real process, gently and not, and going on: the result is the same, bit for bit."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from fairflac.runs.directory import Run, find_runs
from program import Program

SETTINGS = ["epochs=4", "channels=[2,2,2,2]", "kernel_size=3", "validation=0.1"]


def words(runs: Path) -> list[str]:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    return ["train", "biased-digits", "vanilla", "--no-report", "--runs", str(runs), "--data", str(runs), *settings]


def start(runs: Path) -> subprocess.Popen[str]:
    with (runs / "said").open("w") as said:
        return subprocess.Popen([sys.executable, "-m", "fairflac", *words(runs)], stderr=said, text=True)


def wait_for_epochs(runs: Path, epochs: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        found = list(runs.rglob("metrics.jsonl"))
        if found and len(Run(found[0].parent).history) >= epochs:
            return
        time.sleep(0.01)
    pytest.fail("training ended or hung before it could be stopped")


def assert_same(a: Run, b: Run) -> None:
    first, second = (torch.load(run.last, weights_only=True) for run in (a, b))
    torch.testing.assert_close(first["method"], second["method"], rtol=0, atol=0)
    torch.testing.assert_close(first["optimisation"], second["optimisation"], rtol=0, atol=0)
    assert torch.equal(first["random"], second["random"])
    histories = [[{**entry, "seconds": 0} for entry in run.history] for run in (a, b)]
    assert histories[0] == histories[1] and len(histories[0]) == 4
    assert a.result["test"] == b.result["test"]


def test_asked_to_stop_twice_and_killed_once(program: Program, tmp_path: Path) -> None:
    for epochs, number in enumerate((signal.SIGINT, signal.SIGTERM), start=1):
        process = start(tmp_path)
        wait_for_epochs(tmp_path, epochs, process)
        process.send_signal(number)
        assert process.wait(60) == 130
        said = (tmp_path / "said").read_text()
        assert "start it again to go on" in said and "Traceback" not in said
    process = start(tmp_path)
    wait_for_epochs(tmp_path, 3, process)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert find_runs(tmp_path) == []
    for runs in (tmp_path, tmp_path / "whole"):  # the last epoch and all of them, in this process
        assert program(*words(runs)).code == 0
    first, second = find_runs(tmp_path)
    assert_same(first, second)
