"""Real searches on the toy task: what they choose, what they look at, and how they go on."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairflac.errors import UserError
from fairflac.runs.directory import find_runs
from fairflac.tuning.space import Space, make_plan, make_space
from fairflac.tuning.study import TuneResult, tune
from toy_table import flipped, settings, toy_table, workspace

DIVERGING = make_space({"alpha": "1.0,1e300"})
ALPHA = make_space({"alpha": "0.01:100"})


def search(
    folder: Path, table: Path, number: int, rule: str = "guessed-groups", space: Space = ALPHA, **own: Any
) -> TuneResult:
    return tune(make_plan("csv", "flac-b", 0, settings(table, **own), space, rule), workspace(folder), number)


def chosen(found: TuneResult) -> list[Any]:
    return [(trial.settings, trial.value) for trial in found.trials]


def trained(folder: Path) -> dict[str, int]:
    """Finished runs and when they were finished."""
    return {str(run.path): (run.path / "done").stat().st_mtime_ns for run in find_runs(folder / "runs")}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TuneResult]:
    folder = tmp_path_factory.mktemp("first")
    return folder, search(folder, toy_table(folder / "toy"), 3)


def test_trials_are_ordinary_runs_that_share_their_bias_model(first: tuple[Path, TuneResult]) -> None:
    folder, found = first
    methods = [run.config["method"] for run in find_runs(folder / "runs")]
    assert sorted(methods) == ["flac-b", "flac-b", "flac-b", "gce", "vanilla"]
    assert found.trials[0].settings == {"alpha": 100.0}  # the recipe
    assert found.best.value == max(trial.value or 0 for trial in found.trials)
    assert found.run.done and found.run.config["method_options"]["alpha"] == found.best.settings["alpha"]
    assert len(found.judge.data) == 48 and 0 < (found.judge.against or 0) < 48


def test_again_and_with_more_trials_nothing_is_trained_twice(first: tuple[Path, TuneResult]) -> None:
    folder, found = first
    before, table = trained(folder), folder / "toy" / "table.csv"
    assert chosen(search(folder, table, 3)) == chosen(found)
    assert chosen(search(folder, table, 2)) == chosen(found)[:2]
    (record,) = (folder / "runs").rglob("tune-*.json")
    record.unlink()  # the runs remain
    assert chosen(search(folder, table, 3)) == chosen(found)
    assert trained(folder) == before
    more = search(folder, table, 4)
    assert chosen(more)[:3] == chosen(found) and len(trained(folder)) == len(before) + 1


def test_labels_of_the_test_split_change_nothing_in_the_choice(first: tuple[Path, TuneResult], tmp_path: Path) -> None:
    found = first[1]
    other = search(tmp_path, toy_table(tmp_path / "toy", flipped("label", "test")), 3)
    assert len({trial.value for trial in found.trials}) > 1  # there is something to choose
    assert chosen(other) == chosen(found) and other.best.settings == found.best.settings
    one, two = (run.result["test"]["accuracy"] for run in (found.run, other.run))
    assert two == pytest.approx(1 - one) and one != 0.5  # but they did change


def test_labels_of_the_attribute_are_seen_by_an_oracle_alone(first: tuple[Path, TuneResult], tmp_path: Path) -> None:
    folder, found = first
    table = toy_table(tmp_path / "toy", lambda row: {**row, "shade": "dark"} if row["split"] == "val" else row)
    assert chosen(search(tmp_path, table, 1)) == chosen(found)[:1]
    oracles = [
        search(*where, 1, "oracle-unbiased") for where in ((folder, folder / "toy/table.csv"), (tmp_path, table))
    ]
    assert chosen(oracles[0]) != chosen(oracles[1])


def test_labels_of_the_validation_split_do_decide(first: tuple[Path, TuneResult], tmp_path: Path) -> None:
    one = search(first[0], first[0] / "toy" / "table.csv", 1, "accuracy").best
    two = search(tmp_path, toy_table(tmp_path / "toy", flipped("label", "val")), 1, "accuracy").best
    assert one.value != 0.5 and two.value == pytest.approx(1 - (one.value or 0))


def test_a_training_that_diverges_is_a_trial_like_any_other(first: tuple[Path, TuneResult]) -> None:
    folder, table = first[0], first[0] / "toy" / "table.csv"
    found = search(folder, table, 20, "worst-class", DIVERGING)
    assert len(found.trials) == 2  # as many as there are
    assert found.best.settings == {"alpha": 1.0}
    assert [trial.value for trial in found.trials if trial.settings == {"alpha": 1e300}] == [None]
    assert chosen(search(folder, table, 20, "worst-class", DIVERGING)) == chosen(found)
    with pytest.raises(UserError, match="all 2 trainings diverged"):
        search(folder, table, 20, "worst-class", make_space({"alpha": "1e300,1e301"}))


def test_a_damaged_record_and_data_that_cannot_be_judged_on(first: tuple[Path, TuneResult], tmp_path: Path) -> None:
    folder, table = first[0], first[0] / "toy" / "table.csv"
    search(folder, table, 1, "accuracy")
    record = next(path for path in (folder / "runs").rglob("tune-*.json") if '"accuracy"' in path.read_text())
    assert json.loads(record.read_text())["search"]["rule"] == "accuracy"
    record.write_text(record.read_text()[:-20])
    with pytest.raises(UserError, match="damaged"):
        search(folder, table, 1, "accuracy")
    with pytest.raises(UserError, match="needs attribute labels"):
        search(folder, table, 1, "oracle-unbiased", columns=[])
    nowhere = toy_table(tmp_path / "toy", lambda row: {**row, "split": row["split"].replace("val", "train")})
    with pytest.raises(UserError, match="no validation data"):
        search(tmp_path, nowhere, 1, validation=0)
