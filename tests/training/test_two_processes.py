"""`fairflac train --devices 2` as a user meets it: what both processes print together, and how they end."""

import re
import subprocess
import sys
from pathlib import Path

from fairflac.config.run_config import resolve
from fairflac.runs.directory import Workspace, find_runs

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
