"""What it cost, in words."""

from typing import Any

import pytest

from fairflac.reporting.provenance import bias_runs, cost
from fairflac.reporting.results import models
from fairflac.system.progress import duration
from reporting.hand_made import MakeRun, table


@pytest.mark.parametrize(("seconds", "words"), [(35.4, "35 s"), (600, "10 min"), (9000, "2.5 h")])
def test_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_bias_model_counts_where_it_is_found(make_run: MakeRun, bias_model: dict[str, Any]) -> None:
    runs = [make_run("vanilla", table(1.0, 0.2)), make_run("flac", table(1.0, 0.5), bias_model=bias_model)]
    times, machine = cost(models(runs))
    assert times == "Training took: vanilla 12 s; flac 12 s, and its bias model a time that is not known here."
    assert machine == "Machine: device cpu, Abacus, 2 cores."
    stage_one = make_run("vanilla", table(1.0, 1.0, attributes=()), run_id="fedcba9876", target="hue")
    assert bias_runs(runs[1]) == [stage_one] and bias_runs(runs[0]) == []
    assert cost(models(runs))[0].endswith("and its bias model 12 s.")


def test_several_seeds(make_run: MakeRun) -> None:
    runs = [make_run("vanilla", table(1.0, 0.2), seed=seed) for seed in (0, 1)]
    assert "vanilla 12 s (its first seed)" in cost(models(runs))[0]
