"""`fairflac train --devices 2` as a user meets it: what both processes print together, and how they end."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairflac.config.run_config import resolve
from fairflac.runs.directory import Workspace, find_runs, share_trained
from fairflac.training import processes
from small_runs import wait_until

TINY = {"epochs": 1, "channels": [2, 2, 2, 2], "kernel_size": 3}


def on_two(method: str, root: Path, **settings: object) -> subprocess.CompletedProcess[str]:
    words = [word for key, value in {**TINY, **settings}.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "fairflac", "train", "biased-digits", method, "--devices", "2", "--no-report"]
    places = ["--runs", str(root), "--data", str(root)]
    return subprocess.run([*command, *places, *words], capture_output=True, text=True, timeout=240)


def test_each_run_has_its_precision_and_the_console_is_ours(tmp_path: Path) -> None:
    stage_one = {"bias_model.precision": "32-true", "bias_model.epochs": 1, "bias_model.channels": [2, 2, 2, 2]}
    done = on_two("flac", tmp_path, precision="bf16-mixed", **stage_one)
    assert done.returncode == 0, done.stderr
    found = {run.config["method"]: (run.env["precision"], run.env["processes"]) for run in find_runs(tmp_path)}
    assert found == {"vanilla": ("32-true", 2), "flac": ("bf16-mixed", 2)}
    strange = [
        line for line in done.stderr.splitlines() if not re.match(r"(\d/2 )?(bias model \(colour\)|flac)(  |: )", line)
    ]
    assert strange == []
    assert re.search(r"^method .*\nflac .*\nrun: ", done.stdout, re.MULTILINE)


def test_what_the_first_process_refuses_is_one_line(tmp_path: Path) -> None:
    run = Workspace(tmp_path, tmp_path).run(resolve("biased-digits", "vanilla", 0, TINY))
    with run.locked():
        done = on_two("vanilla", tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and line.startswith("fairflac: ") and "is in use by process" in line


STUMBLES = """
import os, sys
from fairflac.cli import main
from fairflac.errors import UserError
from fairflac.methods.vanilla import Vanilla

def step(self, batch, minimise):
    raise UserError("'7.png' cannot be read")

if os.environ.get("LOCAL_RANK") == "1":
    Vanilla.step = step
main()
"""


def test_what_another_process_alone_stumbles_on_is_said_by_the_first(tmp_path: Path) -> None:
    (tmp_path / "stumbles.py").write_text(STUMBLES)
    words = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, str(tmp_path / "stumbles.py"), "train", "biased-digits", "vanilla", "--devices", "2"]
    places = ["--runs", str(tmp_path), "--data", str(tmp_path), "--quiet"]
    done = subprocess.run([*command, *places, *words], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (2, "fairflac: '7.png' cannot be read\n")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("rank", [0, 2])
def test_one_of_four_that_is_killed_ends_all_and_the_same_command_goes_on(tmp_path: Path, rank: int) -> None:
    """4,000 digits in batches of 28: the last batch is not whole."""
    epochs = 12
    config = resolve("biased-digits", "vanilla", 0, {**TINY, "epochs": epochs, "batch_size": 28})
    words = [sys.executable, "-m", "fairflac", "train", "biased-digits", "vanilla", "--devices", "4", "--no-report"]
    words += [word for key, value in TINY.items() for word in ("--set", f"{key}={value}".replace(" ", ""))]
    words += ["--set", f"epochs={epochs}", "--set", "batch_size=28", "--quiet"]
    killed, quiet = (Workspace(tmp_path / name, tmp_path) for name in ("killed", "quiet"))
    run = killed.run(config)
    places = ["--data", str(tmp_path), "--runs"]
    with subprocess.Popen([*words, *places, str(killed.runs)], stderr=subprocess.PIPE, text=True) as first:
        wait_until(lambda: share_trained(run, epochs) > 0)
        others = [int(pid) for pid in Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()]
        os.kill([first.pid, *others][rank], signal.SIGKILL)
        said = first.communicate()[1]
    assert first.returncode == (2 if rank else -signal.SIGKILL)
    assert said == (f"fairflac: {processes.LOST}\n" if rank else "")
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in others))
    assert not run.done and not run.in_use
    for workspace in (killed, quiet):
        subprocess.run([*words, *places, str(workspace.runs)], check=True, capture_output=True)
    whole = quiet.run(config)
    assert (run.path / "predictions.npz").read_bytes() == (whole.path / "predictions.npz").read_bytes()
    assert [{**entry, "seconds": 0} for entry in run.history] == [{**entry, "seconds": 0} for entry in whole.history]


def test_who_is_left_ends_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The short sister: of two that are watched one is killed; and one whose first process is gone."""
    codes: list[int] = []
    monkeypatch.setattr(processes, "_leave", codes.append)
    monkeypatch.setattr(processes, "GRACE_SECONDS", 0.0)
    waiting = [sys.executable, "-c", "input()"]
    with (
        subprocess.Popen(waiting, stdin=subprocess.PIPE) as killed,
        subprocess.Popen(waiting, stdin=subprocess.PIPE) as left,
    ):
        killed.kill()
        processes._end_with([killed, left])
        assert left.wait() == -signal.SIGKILL
    assert codes == [2] and capsys.readouterr().err == f"fairflac: {processes.LOST}\n"
    processes._watch_first(os.getpid())  # which is not the one that started this process
    assert codes == [2, 1]
