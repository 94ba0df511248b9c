"""Pseudo-groups: measured as groups are, and only where nothing better is known."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairflac.metrics import summary
from fairflac.metrics.evidence import NAME, count_guesses, with_guess, with_pseudo_groups
from fairflac.metrics.predictions import Predictions
from prediction_table import make

Y, GUESS, PREDICTION = [0, 0, 0, 0, 1, 1, 1], [2, 2, 2, 1, 1, 1, 2], [0, 0, 1, 1, 1, 1, 0]


def test_a_guess_goes_with_the_class_that_mostly_has_it(tmp_path: Path) -> None:
    unknown = with_guess(make(Y, Y, PREDICTION, attributes=0), np.array(GUESS))
    unknown.save(tmp_path / "predictions.npz")
    table = with_pseudo_groups(Predictions.load(tmp_path / "predictions.npz"))
    assert table is not None
    assert table.aligned[NAME].tolist() == [True, True, True, False, True, True, False]
    numbers = summary(table)
    assert numbers["aligned"] == pytest.approx((2 / 3 + 1) / 2) and numbers["conflicting"] == 0


def test_what_is_usual_is_told_by_training_images() -> None:
    """In training a class was guessed as itself; of these test images most are guessed wrongly."""
    y, guess = np.array([0] * 10 + [1] * 10), np.array([1] * 7 + [0] * 3 + [0] * 8 + [1] * 2)
    seen = replace(make(y.tolist(), y.tolist(), guess.tolist(), attributes=0), guess=guess)
    training = count_guesses(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1]))
    table = with_pseudo_groups(replace(seen, guess_counts=training))
    assert table is not None and (table.aligned[NAME] == (guess == y)).all()
    assert summary(table)["aligned"] == 1 and summary(table)["conflicting"] == 0


def test_without_training_guesses_nothing_is_said() -> None:
    """As in a run that did not keep them."""
    assert with_pseudo_groups(replace(make(Y, Y, PREDICTION, attributes=0), guess=np.array(GUESS))) is None


def test_a_known_attribute_needs_no_guess() -> None:
    assert with_pseudo_groups(with_guess(make(Y, Y, PREDICTION), np.array(GUESS))) is None
    assert with_pseudo_groups(make(Y, Y, PREDICTION, attributes=0)) is None
