"""What classes, values and runs are called, and what stands in for names that are not known."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fairflac.reporting.naming import Names, combinations, told_apart
from fairflac.reporting.results import models
from reporting.hand_made import table, write_run

RESULT = {"classes": ["cat", "dog"], "attributes": {"hue": ["red", "blue"]}}


def test_known_names() -> None:
    names = Names.of(RESULT)
    assert (names.of_class(1), names.of_value("hue", 0)) == ("dog", "red")


def test_numbers_stand_in_for_names_that_were_not_kept() -> None:
    for result in ({}, {"classes": [], "attributes": None}):
        names = Names.of(result)
        assert (names.of_class(1), names.of_value("hue", 0)) == ("1", "0")
    assert Names.of(RESULT).of_class(7) == "7"


def test_values_of_an_image() -> None:
    several = table(1.0, 1.0, attributes=("hue", "tone"))
    names = Names(["a", "b", "c", "d"], {"hue": ["red", "green", "blue", "grey"], "tone": ["light", "dark"]})
    assert names.of_values(several, 0) == "red, light"
    assert names.of_values(table(1.0, 1.0, attributes=()), 0) == ""
    assert Names([], {}).of_values(several, 0) == "0"  # the same word twice says nothing


def test_combinations_tell_images_apart_that_differ_in_one_attribute() -> None:
    one = table(1.0, 1.0)
    assert (combinations(one) == one.bias["hue"]).all()
    two = replace(one, bias={"hue": one.bias["hue"], "side": one.index % 2})
    pairs = {(int(h), int(s), int(c)) for h, s, c in zip(*two.bias.values(), combinations(two), strict=True)}
    assert len(pairs) == len({c for *_, c in pairs}) == 8
    assert (combinations(table(1.0, 1.0, attributes=())) == np.zeros(len(one))).all()


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
    # Alike, as runs of two versions may be.
    runs = [write_run(tmp_path, "flac", table(1.0, 0.5), run_id=run_id) for run_id in ("aa", "bb")]
    assert [model.name for model in models(runs)] == ["flac (aa)", "flac (bb)"]
