"""`fairflac reproduce`, from the command line to the files."""

import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fairflac.cli import main
from fairflac.reproduction import published as scales
from fairflac.training.pipeline import train_config

SMALL = {"epochs": 1, "channels": [2, 2, 2, 2], "kernel_size": 3}


def call(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["fairflac", "reproduce", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code or 0


@pytest.fixture
def tiny_scale(monkeypatch):
    """Digits for seconds, in place of the digits for minutes that `--scale cpu` has."""
    small = scales.ReducedScale("tiny", "biased-digits", SMALL, seeds=1)
    monkeypatch.setattr(scales, "_load_scales", lambda: {"table11": small, "table2": small})


def test_a_table_is_made_once_and_rebuilt_from_its_runs(tiny_scale, monkeypatch, tmp_path, capsys):
    words = ["unbiased-data", "--only", "vanilla", "--data", tmp_path, "--runs", tmp_path / "runs"]
    assert call(monkeypatch, *words, "-o", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "reduced scale" in printed and "(1, cpu)" in printed and "the paper has no such run" in printed
    made = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(made) == {f"table11-cpu.{ending}" for ending in ("md", "tex", "csv", "json")}
    done = sorted((tmp_path / "runs").rglob("done"))
    times = [path.stat().st_mtime_ns for path in done]
    assert len(done) == 1
    assert call(monkeypatch, *words, "-o", tmp_path / "again") == 0
    assert [path.stat().st_mtime_ns for path in done] == times
    capsys.readouterr()
    rebuilt = ["table11", "--only", "vanilla", "--from", tmp_path / "runs", "-o", tmp_path / "rebuilt", "--json"]
    assert call(monkeypatch, *rebuilt) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(made["table11-cpu.json"])


class InThisProcess:
    """Trains one run after the other. Starting a process for each takes longer than these runs do."""

    def run(self, jobs, workspace, listener):
        for job in jobs:
            train_config(job.config, replace(workspace, silent=True))
            listener.finished(job)
        return {}


def test_a_figure_is_drawn_from_the_runs_of_its_table(tiny_scale, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("fairflac.cli.reproduce._executor", lambda *options: InThisProcess())
    words = ["figure1", "--data", tmp_path, "--runs", tmp_path / "runs", "-o", tmp_path / "out"]
    assert call(monkeypatch, *words) == 0
    assert sorted(path.suffix for path in (tmp_path / "out" / "figure1-cpu").iterdir()) == [".png", ".svg"]
    assert "drawn without" not in capsys.readouterr().err
    for marker in (tmp_path / "runs" / "biased-digits" / "flac").rglob("done"):
        marker.unlink()
    assert call(monkeypatch, "figure1", "--from", tmp_path / "runs", "-o", tmp_path / "out") == 0
    assert "figure1 is drawn without biased-digits/flac/" in capsys.readouterr().err


def test_table_1_needs_no_runs(monkeypatch, tmp_path, capsys):
    assert call(monkeypatch, "applicability", "-o", tmp_path, "--json") == 0
    rows = {row.pop("method"): row for row in json.loads(capsys.readouterr().out)}
    assert rows["flac"] == {"no labels in D": True, "no labels in D'": False, "non-categorical bias": False}
    assert "| flac-b | ✓ | ✓ | ✓ |" in (tmp_path / "table1.md").read_text()


def test_data_that_is_not_there_is_a_gap_with_a_reason_and_loses_nothing(monkeypatch, tmp_path, capsys):
    words = ["celeba", "--only", "vanilla", "--data", tmp_path, "--runs", tmp_path / "runs", "-o", tmp_path / "out"]
    assert call(monkeypatch, *words) == 1
    said = capsys.readouterr()
    assert "fairflac data get celeba" in said.out and (tmp_path / "out" / "table3-cpu.md").exists()
    assert re.search(r"\d+ of \d+ runs failed; the first, .*fairflac data get celeba", said.err.splitlines()[-1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say what to reproduce"),
        (["tabel2"], "did you mean 'table2'"),
        (["figure2"], "unknown figure"),
        (["figure5", "--q", "0.99"], "are for tables"),
        (["table2", "--q", "x"], "give numbers"),
        (["table2", "--only", "flc"], "did you mean 'flac'"),
        (["figure5", "--from", "."], "no run of figure5"),
        (["table2", "--from", "nowhere"], "there is no folder"),
        (["table1", "--only", "flac"], "table1 shows what it shows"),
        (["table2", "--address", "127.0.0.1:6379"], "is for --executor ray"),
        (["table2", "--executor", "ray", "--workers", "2"], "are for --executor local"),
    ],
)
def test_mistakes_are_one_line(monkeypatch, tmp_path, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, *words, "--runs", tmp_path) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_the_list_says_what_each_needs(monkeypatch, capsys):
    monkeypatch.setattr("fairflac.reproduction.plan.seconds_per_image", lambda plain: 0.01)
    assert call(monkeypatch, "--list", "--json") == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert len(entries) == 16
    assert entries["table4"]["datasets"] == ["utkface", "fairface"] and entries["table4"]["hours"] > 0
    assert entries["table1"]["runs"] == 0
    assert call(monkeypatch, "biased-mnist", "--list", "--json") == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == ["table2"]
    assert call(monkeypatch, "figure4", "--list", "--json") == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == ["figure4"]
    assert call(monkeypatch, "tabel2", "--list") == 2
    assert call(monkeypatch, "--list", "--scale", "paper") == 0
    assert "biased-mnist" in capsys.readouterr().out


PAGE = Path(__file__).parents[2] / "docs" / "reproduce.md"
COMMANDS = [line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    fairflac reproduce ")]


@pytest.mark.parametrize("line", [line for line in COMMANDS if "--list" not in line])
def test_the_commands_of_the_page_are_understood(line, monkeypatch, tmp_path, capsys):
    words = shlex.split(line)[2:]
    code = call(monkeypatch, *words, "--from", tmp_path, "-o", tmp_path / "out")  # the later of two counts
    assert code == (2 if words[0].startswith("figure") else 0), capsys.readouterr().err
