"""How to repeat a run: what was typed, and its config file."""

import shlex

from fairflac.reporting.provenance import provenance
from reporting.hand_made import MakeRun, table

TYPED = "fairflac train folder flac --set 'path=/photos/it'\"'\"'s <mine>'"


def test_the_typed_command_comes_first_and_the_environment_does_without(make_run: MakeRun) -> None:
    run = make_run("flac", table(1.0, 0.2), net="simple-conv")
    run.add_to_env(command=TYPED)
    (made,) = provenance([run])
    assert made.command is not None
    typed, says, again = made.command.splitlines()
    assert typed == TYPED and says.startswith("#") and "Abacus" in made.environment and "photos" not in made.environment
    assert shlex.split(again) == ["fairflac", "train", "--config", "toy/flac/0123456789-s0/config.toml"]


def test_a_run_that_nobody_typed_has_its_config(make_run: MakeRun) -> None:
    (made,) = provenance([make_run("flac", table(1.0, 0.2), net="simple-conv", dataset="my toys")])
    assert made.command == "fairflac train --config 'my toys/flac/0123456789-s0/config.toml'"
    (old,) = provenance([make_run("lff", table(1.0, 0.2))])
    assert old.command is None  # its config does not name the network
