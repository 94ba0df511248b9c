"""The whole audit: predictions, exchanged cues, guesses of a bias model, known groups; and the verdict in words."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from fairflac.auditing.cues import CUES, Followed, follow
from fairflac.auditing.images import FEWEST, AuditedImages
from fairflac.discovery.guesses import guesses
from fairflac.errors import UserError
from fairflac.inference.model import Classifier, predictions
from fairflac.metrics import Measured
from fairflac.metrics.evidence import Guessed, Strength, Word, attribute_gaps, beside_guess, strength, word
from fairflac.metrics.groups import SMALL
from fairflac.metrics.intervals import share
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.conclusions import GUESS
from fairflac.reporting.text import span, with_range


@dataclass(frozen=True)
class Audit:
    """Everything that was measured; `verdict` puts it into words."""

    source: str  # of the model
    images: AuditedImages
    table: Predictions  # with the guesses
    accuracy: Measured
    followed: list[Followed]
    guessed: Guessed  # beside a bias model of low capacity
    how: str  # that bias model was trained
    gaps: dict[str, Measured]  # see `attribute_gaps`


def audit(model: Classifier, images: AuditedImages, *, seed: int = 0, silent: bool = False) -> Audit:
    data = images.data
    if len(data) < FEWEST:
        raise UserError(f"{len(data)} images are too few for an audit: give {FEWEST} or more")
    table = predictions(model, data, silent=silent)
    followed = follow(model, data.images, table.prediction, silent=silent)
    guess = guesses(data, images.training, seed, silent=silent)
    table = replace(table, guess=guess.guess)
    guessed = beside_guess(table, classes=len(data.task.classes), trial=(guess.trial_y, guess.trial_guess))
    right = share(table.prediction == table.y)
    return Audit(model.source, images, table, right, followed, guessed, guess.how, attribute_gaps(table))


UNNAMED = "something simple that has no name here"
NO_PROOF = (
    "No evidence is no proof that there is no shortcut. A cue that was not tried, or an attribute such as age or skin "
    "colour that no simple change of pixels exchanges, only shows with labels of it (a column of a CSV file)."
)
ADVICE_ON_LEAN = (
    "You decide whether this is a shortcut or what the classes are about: of ripe and unripe fruit, the colour is the "
    "point."
)
ADVICE_ON_SIGNS = (
    "These are signs, not proof. To make sure, look at the images that decide, or label what you suspect in a column "
    "of a CSV file and audit that."
)


class Verdict(NamedTuple):
    word: Word
    on: list[str]  # what it leans on, or seems to; empty without evidence
    reasons: list[str]  # sentences


def verdict(audit: Audit) -> Verdict:
    groups = {name: strength("attribute", gap) for name, gap in audit.gaps.items()}
    cues = {one.cue: strength("cue", one.difference) for one in audit.followed}
    guess = audit.guessed.strength
    blind = _blind(audit)
    said = word([*groups.values(), *cues.values(), guess], blind=bool(blind))
    most = max([*groups.values(), *cues.values(), guess])
    if most is Strength.NONE:
        return Verdict(said, [], [*blind, *(_nothing(audit) if not blind else []), NO_PROOF])
    named = [name for found in (groups, cues) for name, one in found.items() if one is most]
    reasons = [_group(name, audit.gaps[name]) for name, one in groups.items() if one]
    reasons += [_cue(one, cues[one.cue]) for one in audit.followed if cues[one.cue]]
    reasons += _guess(audit.guessed) if guess else []
    ending = ADVICE_ON_LEAN if most is Strength.LEAN else ADVICE_ON_SIGNS
    return Verdict(said, list(dict.fromkeys(named)) or [UNNAMED], [*reasons, ending])


def _nothing(audit: Audit) -> list[str]:
    best = audit.followed[0]
    return [f"No cue that was tried moves the model much: the {best.cue} most, by {_points(best.difference)}."]


def _group(attribute: str, gap: Measured) -> str:
    return f"Where the {attribute} does not go with the class, it is right less often, by {_points(gap)}."


def _cue(one: Followed, how: Strength) -> str:
    little = "" if how is Strength.LEAN else " somewhat"
    return (
        f"It follows the {one.cue}{little} ({CUES[one.cue].meaning}): given the {one.cue} of an image of another "
        f"class, it names that class for {with_range(one.follows)} of the images; given the {one.cue} of an image of "
        f"its own class, for {with_range(one.anyway)}."
    )


def _guess(guessed: Guessed) -> list[str]:
    """What speaks for a lean on the guess; what else may explain it, where that may be."""
    found = []
    if guessed.lean is not None and strength("guess", guessed.lean.difference):
        found.append(
            f"Where that guess is wrong, the model names the guessed class too for {with_range(guessed.lean.follows)} "
            f"of the images; for other images of the same class, for {with_range(guessed.lean.elsewhere)}."
        )
    if guessed.agree is not None and guessed.disagree is not None and strength("accuracy", guessed.gap):
        hard = ": these may be hard, or lack a shortcut" if guessed.strength is Strength.SIGN else ""
        found.append(
            f"The model is right on {with_range(guessed.agree)} of the images where the guess is right and on "
            f"{with_range(guessed.disagree)} of the others{hard}."
        )
    return [f"{GUESS} {found[0]}", *found[1:]]


def _blind(audit: Audit) -> list[str]:
    """Why nothing can be said about cues that have no name."""
    guessed = audit.guessed
    if not audit.followed:
        return ["The model names one class for all of these images, so there is nothing to exchange."]
    if guessed.by_chance and guessed.right is not None:
        return [
            f"{GUESS} Here it guesses no better than chance ({with_range(guessed.right)} right): it found nothing "
            "simple that tells the classes of these images apart."
        ]
    if guessed.blind:
        return [
            f"{GUESS} Here it contradicts the class of only {guessed.against} images, and {SMALL} are needed: in these "
            "images a shortcut and the class cannot be told apart. Images where they differ would help."
        ]
    return []


def _points(gap: Measured) -> str:
    return f"{100 * gap.value:.1f} points ({span(gap)}, n = {gap.n:,})"
