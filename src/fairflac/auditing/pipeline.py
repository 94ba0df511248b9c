"""The whole audit: predictions, what discovery finds, exchanged cues, guesses of a bias model, known groups; and the
verdict in words.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairflac.auditing.cues import CUES, Followed, follow
from fairflac.auditing.images import FEWEST, AuditedImages
from fairflac.auditing.shortcuts import FoundShortcut, FoundShortcuts, OfferedShortcuts, offered_shortcuts
from fairflac.discovery.guesses import Guesses, guesses
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
    found: FoundShortcuts  # by discovery
    guessed: Guessed  # beside a bias model of low capacity
    unexplained: Guessed  # the same, where no found shortcut that the model follows contradicts the class
    how: str  # that bias model was trained
    gaps: dict[str, Measured]  # see `attribute_gaps`

    @property
    def found_alike(self) -> bool:
        """What speaks for a lean on the bias model's guess is what discovery found."""
        return bool(self.guessed.strength and not self.unexplained.strength)


@dataclass(frozen=True)
class Study:
    """What images show before any model is asked; several models of the same images share it."""

    offered: OfferedShortcuts
    guesses: Guesses


def study(images: AuditedImages, root: Path, *, seed: int = 0, silent: bool = False) -> Study:
    """`root`: of datasets, where the cache and the ImageNet weights are."""
    offered = offered_shortcuts(images, root, seed=seed, silent=silent)
    return Study(offered, guesses(images.data, images.training, seed, silent=silent))


def audit(
    model: Classifier,
    images: AuditedImages,
    root: Path,
    *,
    seed: int = 0,
    silent: bool = False,
    studied: Study | None = None,
) -> Audit:
    """`root`: as for `study`, whose outcome may be given where there is one."""
    data = images.data
    if len(data) < FEWEST:
        raise UserError(f"{len(data)} images are too few for an audit: give {FEWEST} or more")
    table = predictions(model, data, silent=silent)
    followed = follow(model, data.images, table.prediction, silent=silent)
    known = studied or study(images, root, seed=seed, silent=silent)
    classes, guess = len(data.task.classes), known.guesses
    found = known.offered.beside(table, classes)
    table = replace(table, guess=guess.guess)
    explained = np.zeros(len(table), dtype=bool)
    for one in found.shortcuts:
        if one.guessed.strength:
            explained |= one.suggested != table.y
    guessed, unexplained = (
        beside_guess(part, classes=classes, trial=(guess.trial_y, guess.trial_guess))
        for part in (table, table.take(~explained))
    )
    right, gaps = share(table.prediction == table.y), attribute_gaps(table)
    return Audit(model.source, images, table, right, followed, found, guessed, unexplained, guess.how, gaps)


UNNAMED = "something simple that has no name here"
SAME = "That is what discovery found: on images that go with it, nothing speaks for a lean on these guesses."
NO_PROOF = (
    "No evidence is no proof that there is no shortcut. A cue that was not tried, or an attribute that discovery does "
    "not see in these images, only shows with labels of it (a column of a CSV file)."
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
    found = {found_name(number): one.guessed.strength for number, one in enumerate(audit.found.shortcuts)}
    cues = {one.cue: strength("cue", one.difference) for one in audit.followed}
    guess = audit.unexplained.strength
    blind = _blind(audit)
    strengths = [*groups.values(), *found.values(), *cues.values(), guess]
    said, most = word(strengths, blind=bool(blind)), max(strengths)
    if most is Strength.NONE:
        tried = [] if blind else _nothing(audit)
        return Verdict(said, [], [*blind, *tried, *discovery_sentences(audit), NO_PROOF])
    named = [name for kind in (groups, found, cues) for name, one in kind.items() if one is most]
    reasons = [_group(name, audit.gaps[name]) for name, one in groups.items() if one]
    reasons += discovery_sentences(audit) if found else []
    reasons += [_cue(one, cues[one.cue]) for one in audit.followed if cues[one.cue]]
    reasons += _guess(audit.unexplained, also=any(found.values())) if guess else []
    ending = ADVICE_ON_LEAN if most is Strength.LEAN else ADVICE_ON_SIGNS
    return Verdict(said, list(dict.fromkeys(named)) or [UNNAMED], [*reasons, ending])


def found_name(number: int) -> str:
    return f"shortcut {number + 1} that discovery found (see its pictures)"


def discovery_sentences(audit: Audit) -> list[str]:
    """What discovery found, and whether the model follows it; or plainly that it found nothing."""
    found = audit.found
    if found.left_out:
        return [found.left_out]
    if not found.shortcuts:
        seen = " and ".join(found.features)
        return [f"Discovery searched {found.searched}, seen as {seen}, and found no shortcut that it believes in."]
    return [_found(number, one, found.searched) for number, one in enumerate(found.shortcuts)]


def _found(number: int, one: FoundShortcut, searched: str) -> str:
    guessed, name = one.guessed, found_name(number)
    if guessed.lean is None or (guessed.blind and not guessed.strength):
        return (
            f"The {searched} offer {name}; it contradicts the class of {guessed.against} of the audited images, too "
            "few to tell whether the model follows it."
        )
    how = {
        Strength.NONE: f"The {searched} offer {name}, and the model does not clearly follow it",
        Strength.SIGN: f"It follows {name} somewhat",
        Strength.LEAN: f"It follows {name}",
    }[guessed.strength]
    return (
        f"{how}: where that contradicts the class, it names the class that the shortcut speaks for in "
        f"{with_range(guessed.lean.follows)} of the images; for other images of the same class, in "
        f"{with_range(guessed.lean.elsewhere)}."
    )


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


def _guess(guessed: Guessed, also: bool) -> list[str]:
    """What speaks for a lean on the guess; what else may explain it, where that may be.

    `also`: beside a found shortcut, and of the images that this does not explain.
    """
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
    counted = " Images that contradict what discovery found do not count here." if also else ""
    return [f"{GUESS}{counted} {found[0]}", *found[1:]]


def _blind(audit: Audit) -> list[str]:
    """Why nothing can be said about cues that have no name."""
    guessed = audit.guessed
    if not audit.followed:
        return ["The model names one class for all of these images, so there is nothing to exchange."]
    if any(not one.guessed.blind for one in audit.found.shortcuts):
        return []  # these images do show whether a shortcut is followed
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
