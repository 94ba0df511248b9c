"""Model selection on biased data, without labels of the bias: a scorer for GridSearchCV and its like."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from fairflac.estimator.classifier import FLACClassifier
from fairflac.estimator.inputs import WrongInput
from fairflac.metrics.evidence import count_guesses
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.selection import GUESSED, VALIDATION_RULES

# Learns what is easy and is soon sure of it, which is what a shortcut is.
GUESSER = ("gce", 5)  # method and epochs


@dataclass(frozen=True)
class GuessedGroupsScorer:
    """What `guessed_groups_scorer` makes: called with a fitted classifier, X and y, as scikit-learn calls scorers."""

    classes: np.ndarray
    guesses: dict[Hashable, int]  # by the content of a row
    counts: np.ndarray  # (C, C) rows by class and guess

    def __call__(self, estimator: Any, X: ArrayLike, y: ArrayLike) -> float:  # noqa: N803
        try:
            guess = np.array([self.guesses[_key(row)] for row in np.asarray(X)])
        except KeyError:
            raise WrongInput(
                "X has rows that the scorer was not made with: give it all rows that are searched"
            ) from None
        truth, predicted = self._codes(y), self._codes(estimator.predict(X))
        none = np.zeros(len(truth))
        table = Predictions(
            np.arange(len(truth)), truth, predicted, none, none[:, None], {}, {}, guess=guess, guess_counts=self.counts
        )
        return VALIDATION_RULES[GUESSED](table)

    def _codes(self, y: ArrayLike) -> np.ndarray:
        """Numbers of classes; what is none of them is never right."""
        found = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        return np.where(self.classes[found] == np.asarray(y), found, -1)


def guessed_groups_scorer(
    X: ArrayLike,  # noqa: N803
    y: ArrayLike,
    *,
    bias_model: BaseEstimator | None = None,
    folds: int = 2,
    random_state: int = 0,
) -> GuessedGroupsScorer:
    """A score for model selection on biased data: accuracy with all groups of class and guess counting alike.

    On data where a shortcut goes with the class, accuracy is best for the model that follows the shortcut. Here a bias
    model guesses the class of every row, and no row is guessed by a model that was trained on it. Where its guess
    is wrong the shortcut misleads; such rows are few, and count as much as all others.

    Args:
        X: all rows that are searched: images or embeddings, as `FLACClassifier` takes them.
        y: their classes.
        bias_model: any classifier of scikit-learn's kind that learns what is easy; without it a `FLACClassifier` that
            is trained for a few epochs.
        folds: of the rows, each guessed by a model of the others.
        random_state: of the folds and of the bias model.

    Returns:
        A scorer, for `scoring=` of `GridSearchCV`, `cross_val_score` and others.

    Example:
        >>> scoring = fairflac.guessed_groups_scorer(X, y)  # doctest: +SKIP
        >>> search = GridSearchCV(fairflac.FLACClassifier(), {"alpha": [10, 1000]}, scoring=scoring)  # doctest: +SKIP
    """
    rows, labels = np.asarray(X), np.asarray(y)
    if rows.dtype.kind in "OSU" or rows.ndim < 2:
        raise WrongInput("the scorer takes arrays, as GridSearchCV does: give images or embeddings and their labels")
    method, epochs = GUESSER
    guesser = bias_model or FLACClassifier(method, epochs=epochs, random_state=random_state)
    parts = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    guess = cross_val_predict(guesser, rows, labels, cv=parts)
    classes, truth = np.unique(labels, return_inverse=True)
    codes = np.searchsorted(classes, guess)
    known = dict(zip(map(_key, rows), codes.tolist(), strict=True))
    return GuessedGroupsScorer(classes, known, count_guesses(truth, codes))


def _key(row: np.ndarray) -> Hashable:
    return np.ascontiguousarray(row).tobytes()
