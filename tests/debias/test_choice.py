"""Which model is kept, on tables made by hand."""

from dataclasses import replace

import numpy as np

from fairflac.debias.choice import choose
from fairflac.predictions import Predictions

N = 400


def table(prediction: np.ndarray, y: np.ndarray) -> Predictions:
    return Predictions(np.arange(len(y)), y, prediction, np.ones(len(y)), np.zeros((len(y), 1)), {}, {})


def planted(share: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(N) % 2
    guess = np.where(np.random.default_rng(0).random(N) < share, y, 1 - y)
    return y, guess


def test_a_model_that_no_longer_follows_the_guess_is_kept() -> None:
    y, guess = planted()
    choice = choose({"vanilla": table(guess, y), "flac-b": table(y, y)}, guess, pairs=100)
    assert choice.kept == "flac-b" and choice.shortcut
    assert choice.gains["flac-b"].difference == 0.5  # two of four groups
    assert "it leans on" in " ".join(choice.reasons)


def test_no_gain_means_vanilla() -> None:
    y, guess = planted()
    same = choose({"vanilla": table(guess, y), "flac-b": table(guess, y)}, guess, pairs=100)
    assert same.kept == "vanilla" and same.shortcut and "no clear gain" in same.reasons[0]
    worse = choose({"vanilla": table(guess, y), "flac-b": table(1 - y, y)}, guess, pairs=100)
    assert worse.kept == "vanilla"


def test_no_evidence_means_vanilla_whatever_the_other_scores() -> None:
    y, guess = planted()
    rng = np.random.default_rng(1)
    tired = np.where(rng.random(N) < 0.9, y, 1 - y)  # wrong now and then, wherever the guess stands
    choice = choose({"vanilla": table(tired, y), "flac-b": table(y, y)}, guess, pairs=100)
    assert choice.kept == "vanilla" and not choice.shortcut and "no evidence of a shortcut" in choice.reasons[1]


def test_an_empty_s_is_no_evidence() -> None:
    y, guess = planted()
    choice = choose({"vanilla": table(guess, y), "flac-b": table(y, y)}, guess, pairs=0.1)
    assert choice.kept == "vanilla" and "pairs of images" in choice.reasons[1]


def test_a_handful_of_images_decides_nothing() -> None:
    y = np.arange(N) % 2
    guess = y.copy()
    guess[:5] = 1 - guess[:5]
    choice = choose({"vanilla": table(guess, y), "flac-b": table(y, y)}, guess, pairs=100)
    assert choice.kept == "vanilla" and "5 validation images only" in choice.reasons[1]


def test_labels_in_the_tables_change_nothing() -> None:
    y, guess = planted()
    tables = {"vanilla": table(guess, y), "flac-b": table(y, y)}
    labelled = {
        name: replace(one, bias={"age": 1 - guess}, aligned={"age": y == guess}, min_cell={"age": 50})
        for name, one in tables.items()
    }
    assert choose(tables, guess, pairs=100) == choose(labelled, guess, pairs=100)


def test_values_of_a_taught_attribute_need_not_be_classes() -> None:
    y, guess = planted()
    value = np.where(guess == 0, 3, 1)  # value 3 goes with class 0
    choice = choose({"vanilla": table(guess, y), "flac": table(y, y)}, value, pairs=100, guess_is_class=False)
    assert choice.kept == "flac" and choice.lean is not None and choice.lean.follows.value == 1
