"""Options that every command has, or every command with a result."""

import inspect
import json
from pathlib import Path

import pytest

from fairflac.cli import app, data
from fairflac.runs.directory import Run
from program import Program

COMMANDS = {one.name: one.callback for one in (*app.registered_commands, *data.app.registered_commands)}
TINY = ["--set", "epochs=1", "--set", "channels=[2,2,2,2]", "--set", "kernel_size=3", "--no-report"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_quiet_and_every_result_be_json(name: str) -> None:
    callback = COMMANDS[name]
    assert callback is not None
    options = inspect.signature(callback).parameters
    assert "quiet" in options and ("json" in options or name == "serve")


def test_quiet_prints_the_result_and_nothing_else(program: Program, tmp_path: Path) -> None:
    words = ["train", "biased-digits", "flac", "--runs", tmp_path, "--data", tmp_path, *TINY]
    loud = program(*words)
    assert "1/2 bias model (colour)  100%" in loud.err and "2/2 flac  100%" in loud.err
    answer = program(*words, "--restart", "--quiet", "--json")
    assert answer.code == 0 and json.loads(answer.out)[0]["method"] == "flac"
    assert "epoch" not in answer.err and "bias model:" not in answer.err


def test_report_figures_and_data_as_json(program: Program, tiny_run: Run, tmp_path: Path, photos: Path) -> None:
    page = tmp_path / "report.html"
    said = json.loads(program("report", tiny_run.path, "-o", page, "--json").out)
    assert said == {"page": str(page), "runs": [str(tiny_run.path)]} and page.exists()
    drawn = json.loads(program("figures", tiny_run.path, "-o", tmp_path, "--only", "training-curves", "--json").out)
    assert drawn["files"] and all(Path(file).is_file() for file in drawn["files"])
    checked = json.loads(program("data", "check", photos, "--data", tmp_path, "--json").out)
    assert checked["warnings"] == [] and any("above" in fact for fact in checked["facts"])
    got = program("data", "get", "biased-digits", "--data", tmp_path, "--json")
    assert json.loads(got.out) == {"name": "biased-digits", "data": str(tmp_path)}
