import json
from pathlib import Path

import pytest

from fairflac.reproduction.plan import plan
from fairflac.reproduction.published import published
from fairflac.reproduction.tables import NOT_RUN, elsewhere, fill
from fairflac.runs.directory import Run

ENV = {"cpu": "a CPU", "device": "cpu", "cores": 2, "precision": "32-true"}


def finish(runs: Path, config, **test: float) -> Run:
    """A run directory with nothing in it but what tables read."""
    run = Run(runs / config.folder)
    run.begin(config.to_toml(), ENV)
    result = {"selection": "last", "seconds": 60.0, "test": test}
    (run.path / "result.json").write_text(json.dumps(result))
    (run.path / "done").write_text("")
    return run


def test_means_over_the_seeds_that_are_there_and_reasons_for_the_others(tmp_path):
    grid = plan(published("table2"), "paper", only=["vanilla"], q=[0.99, 0.995], seeds=3)
    first, second = grid.rows["Vanilla (CE)"]
    for config, accuracy in zip(first.configs[:2], (0.90, 0.92), strict=True):
        finish(tmp_path, config, accuracy=accuracy)
    filled = fill(grid, tmp_path, {second.configs[0].folder: "no data", first.configs[2].folder: "diverged"})
    cell, empty = filled.rows["Vanilla (CE)"]
    assert cell.values == pytest.approx((90.0, 92.0)) and cell.std == pytest.approx(2**0.5)
    assert cell.missing == "1 of 3 seeds: diverged" and cell.published.mean == 90.8
    assert empty.values == () and empty.missing == "no data"
    assert filled.title.startswith("Table 2") and not filled.reduced
    assert any("2 runs, 120 s" in note or "2 runs, 2 min" in note for note in filled.notes)
    assert any("last epoch" in note for note in filled.notes)


def test_shares_stay_shares_and_lower_can_be_better(tmp_path):
    grid = plan(published("table12"), "cpu", only=["vanilla"])
    slots = grid.rows["UTKFace (race): Vanilla (CE)"]
    finish(tmp_path, slots[0].configs[0], p_rule=0.639, error_rate_gap=0.367)
    filled = fill(grid, tmp_path)
    assert [cell.mean for cell in filled.rows["UTKFace (race): Vanilla (CE)"]] == [0.639, 0.367]
    assert filled.reduced
    assert filled.rows["UTKFace (age): Vanilla (CE)"][0].missing == NOT_RUN


def test_another_test_set_is_read_from_beside_the_result(tmp_path):
    grid = plan(published("table6"), "cpu", only=["vanilla"])
    (config,) = grid.configs()
    run = finish(tmp_path, config, accuracy=0.94, unbiased=0.92)
    assert [cell.mean for cell in fill(grid, tmp_path).rows["Vanilla (CE)"]] == [94.0, 92.0, None]
    elsewhere(run, "imagenet-a").write_text(json.dumps({"accuracy": 0.3}))
    assert [cell.mean for cell in fill(grid, tmp_path).rows["Vanilla (CE)"]] == [94.0, 92.0, 30.0]


def test_a_run_that_cannot_measure_it_leaves_a_gap(tmp_path):
    grid = plan(published("table4"), "cpu", only=["vanilla"])
    for config in grid.configs():
        finish(tmp_path, config, accuracy=0.9)
    cells = fill(grid, tmp_path).rows["Vanilla (CE)"]
    assert all(cell.mean is None for cell in cells)
