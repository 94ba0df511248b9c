"""What runs are called."""

from pathlib import Path

from fairflac.reporting.naming import told_apart
from fairflac.reporting.results import models
from reporting.hand_made import table, write_run


def test_settings_tell_runs_of_one_method_apart(tmp_path: Path) -> None:
    wide = {"alpha": 300.0, "task": "ce"}
    runs = [
        write_run(tmp_path, "flac", table(1.0, 0.5), run_id="aa", method_options=wide),
        write_run(tmp_path, "flac", table(1.0, 0.5), run_id="aa", method_options=wide, seed=1),
        write_run(tmp_path, "flac", table(1.0, 0.4), run_id="bb", method_options=wide | {"alpha": 10.0}),
        write_run(tmp_path, "vanilla", table(1.0, 0.2)),
    ]
    assert [model.name for model in models(runs)] == ["flac (alpha = 300.0)", "flac (alpha = 10.0)", "vanilla"]
    assert [model.seeds for model in models(runs)] == [2, 1, 1]


def test_names_by_which_set_takes_them() -> None:
    first = {"seed": 0, "train": {"lr": 0.1}, "bias_model": {"seed": 0, "train": {"epochs": 3}}}
    second = {"seed": 1, "train": {"lr": 0.2}, "bias_model": {"seed": 1, "train": {"epochs": 9}}}
    assert told_apart([first, second]) == ["lr = 0.1, bias_model.epochs = 3", "lr = 0.2, bias_model.epochs = 9"]


def test_what_takes_too_many_words_is_left_to_the_run_id(tmp_path: Path) -> None:
    many = [{"method_options": {f"option_{n}": value for n in range(9)}} for value in (1, 2)]
    assert told_apart(many) is None
    assert told_apart([{"net": "x", "train": {}}, {"net": "x", "train": {"lr": 0.1}}]) is None  # one has nothing to say
    runs = [
        write_run(tmp_path, "flac", table(1.0, 0.5), run_id=run_id) for run_id in ("aa", "bb")
    ]  # as from old versions
    assert [model.name for model in models(runs)] == ["flac (aa)", "flac (bb)"]
