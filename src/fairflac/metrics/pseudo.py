"""Groups where nobody has labelled the attribute: what the bias model named stands in for it."""

from dataclasses import replace

import numpy as np

from fairflac.predictions import Predictions

NAME = "guess of the bias model"


def count_guesses(y: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """(C, K) images by class and guess: of training images, or of others like them."""
    counts = np.zeros((int(y.max(initial=0)) + 1, int(guess.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(counts, (y, guess), 1)
    return counts


def spoken_for(counts: np.ndarray) -> np.ndarray:
    """(C, K) → (K,) the class that each guessed value of an attribute speaks for: the one that has it most often."""
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    best: np.ndarray = share.argmax(0)
    return best


def with_guess(table: Predictions, guess: np.ndarray) -> Predictions:
    """For images like those of the training, such as a validation split: the guesses, counted here."""
    return replace(table, guess=guess, guess_counts=count_guesses(table.y, guess))


def with_pseudo_groups(table: Predictions) -> Predictions | None:
    """The same table with the bias model's guess as its attribute; None if the attribute is known, or no guess is.

    A guess goes with a class if most training images of that class have it. What is measured on such groups is not
    bias against people or backgrounds, but how a model does where its bias model was wrong: worth a look, no evidence.
    """
    if table.bias or table.guess is None or table.guess_counts is None:
        return None
    aligned = table.guess == table.guess_counts.argmax(1)[table.y]
    return replace(table, bias={NAME: table.guess}, aligned={NAME: aligned}, guess=None, guess_counts=None)
