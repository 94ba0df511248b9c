"""`fairflac tune` as a user meets it, kill -9 included."""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fairflac
from fairflac.api import experiments
from fairflac.cli import main
from fairflac.errors import UserError
from fairflac.metrics.selection import VALIDATION_RULES
from fairflac.runs.directory import Run, Workspace
from toy_table import settings, toy_table


def words(folder: Path, *more: str, trials: int = 2) -> list[str]:
    changes = settings(folder / "toy" / "table.csv")
    given = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    places = ["--runs", str(folder / "runs"), "--data", str(folder / "data")]
    return ["tune", "csv", "flac-b", "--trials", str(trials), "--search", "alpha=0.01:100", *places, *given, *more]


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["fairflac", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def trials(folder: Path) -> list[dict[str, object]]:
    """On record; how long they took is their own affair."""
    found = [json.loads(path.read_text())["trials"] for path in (folder / "runs").rglob("tune-*.json")]
    return [{**trial, "seconds": None} for trial in found[0]] if found else []


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which two trials were made without a break."""
    folder = tmp_path_factory.mktemp("searched")
    toy_table(folder / "toy")
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert call(monkeypatch, *words(folder)) == 0
    return folder


def test_table_and_ready_command(
    searched: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, *words(searched)) == 0
    validation, _, test = capsys.readouterr().out.partition("Test split")
    head, *lines = validation.splitlines()
    assert head.split() == ["trial", "alpha", "guessed-groups", "n", "seconds", "run"]
    assert [line.split()[0] for line in lines[:2]] == ["1", "2"] and " 48 " in lines[0]
    assert "unbiased" not in validation and "unbiased" in test
    command = shlex.split(re.search(r"^train: fairflac (.*)$", test, re.MULTILINE)[1])  # type: ignore[index]
    run = Run(Path(re.search(r"^run: (.*)$", test, re.MULTILINE)[1]))  # type: ignore[index]
    before = run.last.stat().st_mtime_ns
    assert call(monkeypatch, *command, "--no-report") == 0
    assert f"run: {run.path}" in capsys.readouterr().out and run.last.stat().st_mtime_ns == before


def test_json(searched: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, *words(searched, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["n"], len(found["trials"])) == ("guessed-groups", 48, 2)
    best = max(found["trials"], key=lambda trial: trial["value"])
    assert found["best"]["settings"] == best["settings"] and found["best"]["run"].endswith(best["run"])
    assert [row["method"] for row in found["test"]] == ["flac-b"]
    assert not any("test" in trial or "unbiased" in trial for trial in found["trials"])


def test_killed_in_the_second_trial(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table lies where it did, so that runs have the same names: only the folder of runs is another."""
    command = words(searched, "--runs", str(tmp_path / "runs"))
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen([sys.executable, "-m", "fairflac", *command], stdout=said, stderr=said)
    deadline, interrupted = time.monotonic() + 120, tmp_path / "runs" / str(trials(searched)[1]["run"])
    while not (interrupted / "metrics.jsonl").exists():  # of the first finished epoch
        assert process.poll() is None and time.monotonic() < deadline, (tmp_path / "said").read_text()
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert trials(tmp_path) == trials(searched)[:1] and not Run(interrupted).done
    first = tmp_path / "runs" / str(trials(searched)[0]["run"]) / "last.pt"
    before = first.stat().st_mtime_ns
    assert call(monkeypatch, *command) == 0
    assert trials(tmp_path) == trials(searched)
    assert first.stat().st_mtime_ns == before and "trial 1 of 2" not in capsys.readouterr().err
    assert len(list((tmp_path / "runs" / "csv" / "flac-b").glob("*-s0"))) == 2  # the interrupted one went on


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["biased-digits", "falc"], "did you mean 'flac'"),
        (["biased-digits", "flac", "--search", "alhpa=1:2"], "did you mean 'alpha'"),
        (["biased-digits", "flac", "--search", "alpha=2:1"], "empty"),
        (["biased-digits", "flac", "--search", "alpha"], "expected KEY=LOW:HIGH"),
        (["biased-digits", "flac", "--search", "=1:2"], "expected KEY=LOW:HIGH"),
        (["biased-digits", "flac", "--search", "alpha="], "expected KEY=LOW:HIGH"),
        (["biased-digits", "flac", "--search", "alpha=1:2", "--search", "alpha=3:4"], "given twice"),
        (["biased-digits", "flac", "--search", "alpha=a,b"], "alpha = 'a'"),
        (["biased-digits", "vanilla"], "no weight to search"),
        (["biased-digits", "flac", "--rule", "luck"], "unknown validation rule"),
        (["biased-digits", "flac", "--trials", "0"], "--trials"),
    ],
)
def test_mistakes_cost_one_line(
    arguments: list[str], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "tune", *arguments, "--runs", str(tmp_path / "runs"), "--data", str(tmp_path)) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("fairflac:"))
    assert part in line and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("search", "value"),
    [("1:1e4", 1), ("ce,supcon", "ce"), ('"ce","supcon"', "ce"), ("[1, 2],[3, 4]", [1, 2]), ((0.5, 2), 0.5)],
)
def test_what_is_searched_is_checked_by_a_value_of_it(
    search: str | tuple[float, float], value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr(experiments, "arrange", lambda dataset, method, changes: seen.update(changes))
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match="needs optuna"):
        fairflac.tune("biased-digits", "flac", search={"it": search}, workspace=Workspace(tmp_path, tmp_path))
    assert seen == {"it": value}


def test_without_optuna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert call(monkeypatch, "tune", "biased-digits", "flac", "--runs", str(tmp_path)) == 2
    assert capsys.readouterr().err == 'fairflac: fairflac tune needs optuna: pip install "fairflac[tune]"\n'


def test_no_values_from_python_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="search of alpha: one value leaves nothing to search"):
        fairflac.tune("biased-digits", "flac", search={"alpha": []}, workspace=Workspace(tmp_path, tmp_path))


def test_help_names_every_rule(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "tune", "--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(rule in shown for rule in VALIDATION_RULES) and "ten times" in shown
