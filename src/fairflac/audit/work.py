"""The whole audit: predictions, exchanged cues, guesses of a bias model, groups where attributes are known."""

from dataclasses import dataclass, replace

import numpy as np

from fairflac.audit.exchange import Followed, follow
from fairflac.audit.guessing import Guesses, guesses
from fairflac.audit.subject import Subject
from fairflac.errors import UserError
from fairflac.metrics import Measured, count, measure, scores
from fairflac.metrics.counts import Counts, Values
from fairflac.metrics.intervals import intervals, never_certain, share_interval
from fairflac.metrics.lean import Lean, lean
from fairflac.predictions import Predictions
from fairflac.trained.model import Trained, predictions

FEWEST = 50  # images, below which an audit says nothing


@dataclass(frozen=True)
class Guessed:
    """How the model does beside a bias model of low capacity."""

    how: str  # it was trained
    right: Measured  # its guesses of images like those it was trained on, classes counting alike
    better_than_chance: bool
    agree: Measured | None  # accuracy of the model where guess and class agree; None: there is no such image
    disagree: Measured | None
    lean: Lean | None


@dataclass(frozen=True)
class Audit:
    """Everything that was measured; `verdict` puts it into words."""

    source: str  # of the model
    subject: Subject
    table: Predictions  # with the guesses
    accuracy: Measured
    followed: list[Followed]
    guessed: Guessed
    gaps: dict[
        str, Measured
    ]  # per attribute: accuracy where it goes with the class, minus where it does not (n images)


def audit(model: Trained, subject: Subject, *, seed: int = 0, silent: bool = False) -> Audit:
    data = subject.data
    if len(data) < FEWEST:
        raise UserError(f"{len(data)} images are too few for an audit: give {FEWEST} or more")
    table = predictions(model, data, silent=silent)
    followed = follow(model, data.images, table.prediction, silent=silent)
    guess = guesses(data, subject.training, seed, silent=silent)
    table = replace(table, guess=guess.guess)
    numbers = measure(replace(table, bias={}, aligned={}))
    return Audit(model.source, subject, table, numbers["accuracy"], followed, _guessed(table, guess), gaps(table))


def gaps(table: Predictions) -> dict[str, Measured]:
    """Per attribute; left out where all images, or none, go with their class."""
    found = {}
    for name in table.bias:
        counts = count(table, name)
        value = float(_gap(counts))
        if np.isfinite(value):
            n = int(counts.per_group[counts.counted & ~counts.aligned].sum())
            ends = intervals(counts, {"gap": _gap})["gap"]
            found[name] = Measured(value, *(never_certain(value, ends, n) if ends[0] == ends[1] else ends), n)
    return found


def _gap(counts: Counts) -> Values:
    return scores.aligned(counts) - scores.conflicting(counts)


def _guessed(table: Predictions, found: Guesses) -> Guessed:
    agrees = found.guess == table.y
    right, classes = _by_class(found.trial_y, found.trial_guess), len(np.unique(found.trial_y))
    return Guessed(
        found.how,
        right,
        better_than_chance=right.low > 1 / classes,
        agree=_accuracy(table, agrees),
        disagree=_accuracy(table, ~agrees),
        lean=lean(table),
    )


def _by_class(y: np.ndarray, guess: np.ndarray) -> Measured:
    """Share of right guesses, classes counting alike."""
    rates = [guess[y == label] == label for label in np.unique(y)]
    sizes = np.array([len(rate) for rate in rates])
    value = float(np.mean([rate.mean() for rate in rates]))
    return Measured(value, *share_interval(value, round(scores.effective_size(sizes))), len(y))


def _accuracy(table: Predictions, rows: np.ndarray) -> Measured | None:
    n = int(rows.sum())
    if n == 0:
        return None
    share = float((table.prediction == table.y)[rows].mean())
    return Measured(share, *share_interval(share, n), n)
