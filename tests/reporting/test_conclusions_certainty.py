"""How sure: what is said, and when."""

import re

import numpy as np

from fairflac.reporting.conclusions import certainty
from fairflac.reporting.naming import Names
from fairflac.reporting.results import group_tables, models, result, rows
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, table


def said(runs: list[Run]) -> str:
    results = [result(row, run.predictions) for row, run in zip(rows(runs), runs, strict=True)]
    groups = group_tables({"first": runs[0].predictions}, Names([], {}))
    return " ".join(certainty(models(runs), results, groups))


def test_ranges_gains_and_small_groups(make_run: MakeRun) -> None:
    words = said([make_run("vanilla", table(1.0, 0.2)), make_run("flac", table(1.0, 0.8))])
    assert re.search(r"Gain over vanilla: flac \+45\.0 points \(\+4\S+ to \+\d\S+, n = 320\)", words)
    assert "trained once" in words
    assert "All of the 16 groups of class and hue have fewer than 30 test images" in words


def test_without_attribute_or_vanilla(make_run: MakeRun) -> None:
    words = said([make_run("flac", table(0.5, 0.5, attributes=()))])
    assert "trained once" in words and "Gain" not in words and "groups" not in words


def test_seeds(make_run: MakeRun) -> None:
    runs = [make_run("flac", table(1.0, conflicting), seed=seed) for seed, conflicting in enumerate((0.8, 0.6))]
    words = said(runs)
    assert "flac from 70.0 to 85.0 % (2 seeds)" in words and "trained once" not in words


def test_a_gain_that_may_be_luck_and_one_on_other_images(make_run: MakeRun) -> None:
    vanilla = make_run("vanilla", table(1.0, 0.5))
    assert "may be luck" in said([vanilla, make_run("flac", table(1.0, 0.5), run_id="same")])
    assert "may be luck" not in said([vanilla, make_run("flac", table(1.0, 0.9), run_id="better")])
    few = table(1.0, 0.9).take(np.arange(100))
    assert "Gain" not in said([vanilla, make_run("flac", few, run_id="other")])
