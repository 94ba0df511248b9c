"""The scorer for biased data: against a count by hand, and where accuracy chooses the wrong model."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, cross_val_score

from estimator.planted import digits, embedded
from fairflac import guessed_groups_scorer
from fairflac.errors import UserError
from fairflac.estimator.scorer import _key

WORDS = np.array(["cat", "dog"])


class Reads(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Names the class that a column says."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, x: np.ndarray, y: np.ndarray) -> "Reads":
        self.classes_ = np.unique(y)
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        return WORDS[x[:, self.column].astype(int)]


def planted(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Column 0: a shortcut that is right for 95 %. Column 1: what is seen of the class itself, right for 85 %."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    shortcut, seen = (np.where(rng.random(n) < share, y, 1 - y) for share in (0.95, 0.85))
    return np.stack([shortcut, seen, np.arange(n)], axis=1).astype(float), WORDS[y]


def test_it_is_the_mean_over_groups_of_class_and_guess() -> None:
    x, y = planted()
    scorer = guessed_groups_scorer(x, y, bias_model=Reads(0))
    for column in (0, 1):
        right = Reads(column).predict(x) == y
        cells = [right[(y == label) & (x[:, 0] == guess)].mean() for label in WORDS for guess in (0, 1)]
        assert scorer(Reads(column), x, y) == pytest.approx(np.mean(cells))
    assert scorer(Reads(0), x, y) == 0.5  # always right where the guess is, never where it is not


def test_accuracy_chooses_the_shortcut_and_the_scorer_does_not() -> None:
    x, y = planted()
    choice = {"column": [0, 1]}
    assert GridSearchCV(Reads(), choice).fit(x, y).best_params_ == {"column": 0}
    scorer = guessed_groups_scorer(x, y, bias_model=Reads(0))
    assert GridSearchCV(Reads(), choice, scoring=scorer).fit(x, y).best_params_ == {"column": 1}
    assert cross_val_score(Reads(1), x, y, scoring=scorer).mean() > 0.75


def test_the_bias_model_that_is_trained_for_it_sees_the_shortcut() -> None:
    some = digits("train")
    scorer = guessed_groups_scorer(rows := embedded(some.x), some.y)
    guess = np.array([scorer.guesses[_key(row)] for row in rows])
    misled = some.colour != some.y
    assert (guess == some.colour)[misled].mean() > 0.7 and (guess == some.y)[misled].mean() < 0.2


def test_mistakes_are_one_line() -> None:
    x, y = planted()
    scorer = guessed_groups_scorer(x[:200], y[:200], bias_model=Reads(0))
    with pytest.raises(UserError, match="rows that the scorer was not made with"):
        scorer(Reads(), x, y)
    with pytest.raises(UserError, match="takes arrays"):
        guessed_groups_scorer("photos", y)
