"""`fairflac train --config`: what a run has written makes the same run; what was typed is on record."""

import shlex
from pathlib import Path

from fairflac.runs.directory import find_runs
from fairflac.system.invocation import remember, typed_command
from program import Program, refused

TINY = ["--set", "epochs=1", "--set", "channels=[2,2,2,2]", "--set", "kernel_size=3"]


def test_a_run_is_made_again_from_its_config(program: Program, tmp_path: Path) -> None:
    typed = ["train", "biased-digits", "vanilla", "--seed", "2", "--runs", tmp_path / "a b", "--data", tmp_path, *TINY]
    assert program(*typed).code == 0
    (run,) = find_runs(tmp_path / "a b")
    assert shlex.split(run.env["command"]) == ["fairflac", *map(str, typed)]
    page = run.report.read_text()
    assert f"{run.path.name}/config.toml" in page and "--seed 2" in page and page.count("--set") == 3
    config = run.path / "config.toml"
    again = ["train", "--config", config, "--runs", tmp_path / "again", "--data", tmp_path, "--no-report"]
    assert program(*again).code == 0
    (same,) = find_runs(tmp_path / "again")
    assert same.path.name == run.path.name and same.config == run.config
    assert same.result["test"] == run.result["test"]
    assert program(*again, "--seed", "3", "--set", "lr=0.5", "--json").code == 0
    other = next(one for one in find_runs(tmp_path / "again") if one.path != same.path)
    assert other.config == {**run.config, "seed": 3, "train": {**run.config["train"], "lr": 0.5}}

    refused(program("train", "biased-digits", "flac", "--config", config), "leave out both")
    refused(program(*again, "--set", "seed=1"), "unknown setting 'seed'")
    refused(program(*again, "--set", "alhpa=1"), "alhpa")
    refused(program("train", "--config", tmp_path / "nowhere.toml"), "there is no config file")
    config.write_text(config.read_text().replace('method = "vanilla"', 'method = "vanlila"'))
    refused(program(*again), "did you mean 'vanilla'")


def test_what_is_typed_can_be_typed_again(program: Program) -> None:
    program("list", "it's", "a b", "$(date)")
    assert typed_command() == "fairflac list 'it'\"'\"'s' 'a b' '$(date)'"
    remember(None)
    assert typed_command() is None
