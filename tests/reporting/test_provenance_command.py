"""The command on the page makes the same run."""

import shlex
import tomllib
from typing import Any

import pytest

from fairflac.config.options import parse_assignments
from fairflac.config.run_config import RunConfig, resolve
from fairflac.reporting.provenance import command


def read_back(words: list[str]) -> RunConfig:
    assert words[:2] == ["fairflac", "train"] and words[4] == "--seed" and set(words[6::2]) <= {"--set"}
    return resolve(words[2], words[3], int(words[5]), parse_assignments(words[7::2]))


@pytest.mark.parametrize(
    ("dataset", "method", "changes"),
    [
        ("biased-digits", "vanilla", {}),
        ("biased-digits", "flac", {"alpha": 3.5, "epochs": 2, "channels": [2, 2, 2, 2]}),
        ("biased-digits", "flac-b", {"bias_model.kind": "gce"}),
        ("biased-digits", "rebias", {}),
        ("biased-digits", "ssa", {"label_share": 0.25}),
        ("biased-mnist", "flac", {"bias_model.seed": 3}),
        ("celeba", "flac", {"clip_norm": 1.0}),
        ("utkface", "flac", {}),
        ("folder", "flac-b", {"path": '/photos/it\'s <mine> & "yours"'}),
    ],
)
def test_there_and_back(dataset: str, method: str, changes: dict[str, Any]) -> None:
    config = resolve(dataset, method, 4, changes)
    again = read_back(shlex.split(command(tomllib.loads(config.to_toml()))))
    assert again == config and again.run_id == config.run_id


def test_a_bias_model_has_its_target() -> None:
    config = resolve("biased-digits", "vanilla", 0, {"target": "colour"})
    assert read_back(shlex.split(command(tomllib.loads(config.to_toml())))) == config


def test_words_that_could_be_something_else_are_quoted() -> None:
    words = command(
        {"dataset": "d", "method": "m", "seed": 0, "net": "n", "train": {"a": "true", "b": "0.5", "c": "x y"}}
    )
    assert shlex.split(words)[-5::2] == ['a="true"', 'b="0.5"', 'c="x y"']
