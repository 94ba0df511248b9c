"""How far a model leans on what a simpler one sees, against a loop over the images."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.metrics.evidence import aligned_class, count_guesses, lean
from fairflac.metrics.predictions import Predictions


def table(y: np.ndarray, prediction: np.ndarray, guess: np.ndarray | None) -> Predictions:
    n = len(y)
    return Predictions(np.arange(n), y, prediction, np.ones(n), np.zeros((n, 1)), {}, {}, guess=guess)


def slow(y: np.ndarray, prediction: np.ndarray, guess: np.ndarray) -> tuple[float, float]:
    """Image by image, as the docstring says it; images that have nothing to be compared with are left out."""
    follows, elsewhere = [], []
    for i in np.flatnonzero(guess != y):
        others = (y == y[i]) & (guess != guess[i])
        if others.any():
            follows.append(prediction[i] == guess[i])
            elsewhere.append(np.mean(prediction[others] == guess[i]))
    return float(np.mean(follows)), float(np.mean(elsewhere))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(20, 80))
def test_is_what_a_loop_gives(seed: int, classes: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    y, prediction, guess = (rng.integers(0, classes, n) for _ in range(3))
    guess[:10], y[9:11], guess[9:11] = y[:10], 0, [0, 1]
    found = lean(table(y, prediction, guess))
    assert found is not None
    follows, elsewhere = slow(y, prediction, guess)
    assert found.follows.value == pytest.approx(follows)
    assert found.elsewhere.value == pytest.approx(elsewhere)
    assert found.difference.value == pytest.approx(follows - elsewhere)
    alone = [(guess[y == label] == guess[y == label][0]).all() for label in y]  # a class that is guessed one way
    assert found.follows.n == np.sum((guess != y) & ~np.array(alone))
    assert -1 <= found.difference.low <= found.difference.value <= found.difference.high <= 1
    assert found.difference.low < found.difference.high


def test_a_model_that_reads_nothing_else_follows_every_guess() -> None:
    y = np.repeat([0, 1, 2], 40)
    guess = y.copy()
    guess[::10] = (y[::10] + 1) % 3
    found = lean(table(y, guess, guess))
    assert found is not None and found.difference.value == 1
    assert 0.6 < found.difference.low < 1  # 12 images are no certainty


def test_three_images_that_follow_prove_nothing() -> None:
    """Of 500 others none is named so: the difference is no surer than those three."""
    y = np.repeat([0, 1, 2], 200)
    guess, said = y.copy(), y.copy()
    guess[:3], said[:3], said[300] = 1, 1, 2
    found = lean(table(y, said, guess))
    assert found is not None and found.difference.value == 1 and found.difference.low < 0.4


def test_a_class_that_is_guessed_one_way_has_nothing_to_compare_with() -> None:
    y = np.repeat([0, 1], 20)
    assert lean(table(y, np.zeros_like(y), np.zeros_like(y))) is None


def test_hard_images_are_not_a_shortcut() -> None:
    """Where the guess is wrong this model is wrong too, half of the time, but it does not name the guess."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 2000)
    guess = np.where(rng.random(2000) < 0.7, y, (y + 1) % 10)
    hard = (guess != y) & (rng.random(2000) < 0.5)
    found = lean(table(y, np.where(hard, (y + rng.integers(2, 10, 2000)) % 10, y), guess))
    assert found is not None and found.difference.high < 0.05


def test_values_of_an_attribute_speak_for_a_class() -> None:
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    guess = np.array([2, 2, 2, 0, 0, 0, 0, 2])  # value 2 goes with class 0, value 0 with class 1
    speaks_for = aligned_class(count_guesses(y, guess))
    assert speaks_for[[0, 2]].tolist() == [1, 0]
    found = lean(table(y, speaks_for[guess], guess), speaks_for)
    assert found is not None and (found.follows.value, found.elsewhere.value) == (1, 0)


def test_nothing_to_say() -> None:
    y = np.array([0, 1, 0, 1])
    assert lean(table(y, y, None)) is None
    assert lean(table(y, y, y)) is None  # a guess that is always right
    assert lean(table(y, y, 1 - y)) is None  # or never
