"""The whole audit: predictions, exchanged cues, guesses of a bias model, groups where attributes are known."""

from dataclasses import dataclass, replace

from fairflac.auditing.cues import Followed, follow
from fairflac.auditing.subject import FEWEST, Subject
from fairflac.discovery.guesses import guesses
from fairflac.errors import UserError
from fairflac.inference.model import Classifier, predictions
from fairflac.metrics import Measured
from fairflac.metrics.evidence import Guessed, attribute_gaps, beside_guess
from fairflac.metrics.intervals import share
from fairflac.metrics.predictions import Predictions


@dataclass(frozen=True)
class Audit:
    """Everything that was measured; `verdict` puts it into words."""

    source: str  # of the model
    subject: Subject
    table: Predictions  # with the guesses
    accuracy: Measured
    followed: list[Followed]
    guessed: Guessed  # beside a bias model of low capacity
    how: str  # that bias model was trained
    gaps: dict[str, Measured]  # see `attribute_gaps`


def audit(model: Classifier, subject: Subject, *, seed: int = 0, silent: bool = False) -> Audit:
    data = subject.data
    if len(data) < FEWEST:
        raise UserError(f"{len(data)} images are too few for an audit: give {FEWEST} or more")
    table = predictions(model, data, silent=silent)
    followed = follow(model, data.images, table.prediction, silent=silent)
    guess = guesses(data, subject.training, seed, silent=silent)
    table = replace(table, guess=guess.guess)
    guessed = beside_guess(table, classes=len(data.task.classes), trial=(guess.trial_y, guess.trial_guess))
    right = share(table.prediction == table.y)
    return Audit(model.source, subject, table, right, followed, guessed, guess.how, attribute_gaps(table))
