import numpy as np
import pytest

from fairflac.metrics.evidence import with_guess
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.selection import VALIDATION_RULES


def table(y: list[int], prediction: list[int], guess: list[int]) -> Predictions:
    n = len(y)
    columns = [np.array(values) for values in (y, prediction, guess)]
    features, score = np.zeros((n, 2)), np.ones(n)
    return with_guess(Predictions(np.arange(n), columns[0], columns[1], score, features, {}, {}), columns[2])


# Eight of ten images have a background that goes with their class, and the bias model names the background.
Y = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
GUESS = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]
BIASED = table(Y, GUESS, GUESS)
FAIR = table(Y, [0, 0, 1, 1, 0, 1, 1, 0, 0, 1], GUESS)  # half right on the common ones, right on the rare


def test_values_by_hand() -> None:
    guessed, accuracy, worst = (VALIDATION_RULES[name] for name in ("guessed-groups", "accuracy", "worst-class"))
    assert guessed(BIASED) == pytest.approx((1 + 0 + 1 + 0) / 4)
    assert guessed(FAIR) == pytest.approx((0.5 + 1 + 0.5 + 1) / 4)
    assert (accuracy(BIASED), accuracy(FAIR)) == pytest.approx((0.8, 0.6))  # the trap
    assert (worst(BIASED), worst(FAIR)) == pytest.approx((0.8, 0.6))
    assert worst(table([0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 1, 1])) == 0.5


def test_the_default_comes_first_and_oracles_have_their_name() -> None:
    assert next(iter(VALIDATION_RULES)) == "guessed-groups"
    assert "last" not in VALIDATION_RULES and "oracle-unbiased" in VALIDATION_RULES
