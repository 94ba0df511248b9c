"""Does a model lean on what a simpler model sees? Told without attribute labels.

A bias model guesses each image's class from what is easy. Where its guess is wrong, a model that leans on the same cue
names the guessed class too; a model that merely finds some images hard names any wrong class, or the right one. So what
counts is how much more often the model names the guessed class than it does for other images of the same true class.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairflac.metrics.counts import Counts, Values, count
from fairflac.metrics.differences import difference
from fairflac.metrics.intervals import Metric, intervals, never_certain
from fairflac.metrics.measure import Measured
from fairflac.predictions import Predictions

GUESS = "guess"


class Lean(NamedTuple):
    """Shares of the images whose guess contradicts their class."""

    follows: Measured  # the model names the guessed class
    elsewhere: Measured  # how often it names that class for images of the same true class that are guessed otherwise
    difference: Measured  # the first minus the second: 0 without a shortcut, 1 for a model that reads nothing else


def lean(table: Predictions, speaks_for: np.ndarray | None = None) -> Lean | None:
    """From predictions and the bias model's `guess`; None if there is no guess, or none that contradicts a class.

    `speaks_for`: (K,) the class that each guessed value goes with, where guesses are not classes themselves.
    """
    if table.guess is None:
        return None
    suggested = table.guess if speaks_for is None else speaks_for[table.guess]
    pseudo = replace(table, bias={GUESS: suggested}, aligned={GUESS: suggested == table.y}, min_cell={}, repeats={})
    counts = _by_class(pseudo)
    against = int(_against(counts).sum())
    if not against or not (suggested == table.y).any():
        return None
    metrics: dict[str, Metric] = {"follows": _follows, "elsewhere": _elsewhere}
    ends = intervals(counts, metrics)
    follows, elsewhere = (
        Measured(value, *never_certain(value, ends[name], against), against)
        for name, metric in metrics.items()
        for value in [float(metric(counts))]
    )
    return Lean(follows, elsewhere, difference(follows, elsewhere, n=against))


def _by_class(table: Predictions) -> Counts:
    """As `count`, with one column for every class, also those that are never suggested."""
    counts = count(table, GUESS)
    classes = counts.n.shape[0]
    n = np.zeros((classes, classes, classes), dtype=np.int64)
    n[:, np.unique(table.bias[GUESS])] = counts.n
    return Counts(n, np.eye(classes, dtype=bool), n.sum(-1) > 0)


def _comparable(counts: Counts) -> Values:
    """(..., C, C) by class and guess: the guess speaks for another class, and not for all images of this one."""
    others = counts.per_group.sum(-1, keepdims=True) - counts.per_group
    return (others > 0) & ~np.eye(counts.n.shape[-1], dtype=bool)


def _against(counts: Counts) -> Values:
    """(..., C, C) images of a class whose guess speaks for another."""
    return counts.per_group * _comparable(counts)


def _named(counts: Counts) -> Values:
    """(..., C, C) of them, those for which the model names what the guess speaks for."""
    return np.diagonal(counts.n, axis1=-2, axis2=-1) * _comparable(counts)


def _follows(counts: Counts) -> Values:
    return _named(counts).sum((-2, -1)) / np.maximum(_against(counts).sum((-2, -1)), 1)


def _elsewhere(counts: Counts) -> Values:
    """The rate among images of the same class that are guessed otherwise, weighted as the images above."""
    against = _against(counts)
    of_class = counts.n.sum(-2)  # (..., C, C) images by class and prediction
    others = of_class.sum(-1, keepdims=True) - counts.per_group
    rate = (of_class - np.diagonal(counts.n, axis1=-2, axis2=-1)) / np.maximum(others, 1)
    return (against * rate).sum((-2, -1)) / np.maximum(against.sum((-2, -1)), 1)
