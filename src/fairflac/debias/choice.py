"""Which model to keep: decided on validation images, without a single attribute label."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binomtest

from fairflac.metrics.comparison import Difference
from fairflac.metrics.lean import Lean, lean, spoken_for
from fairflac.predictions import Predictions
from fairflac.report.comparisons import CLEAR
from fairflac.report.guessed import gain_sentence, guessed_gains, lean_sentence
from fairflac.report.ranges import with_range
from fairflac.report.tables import percent
from fairflac.report.verdict import VISIBLE_GAP
from fairflac.validation import without_labels

FEWEST_AGAINST = 10  # images whose guess contradicts their class; with fewer every number is luck
FEWEST_PAIRS = 1.0  # in a batch, of those that FLAC learns from
VANILLA = "vanilla"


@dataclass(frozen=True)
class Choice:
    """The model to keep, and why."""

    kept: str  # by name, as given
    shortcut: bool  # is there evidence of one?
    reasons: list[str]  # sentences
    lean: Lean | None  # of the vanilla model
    gains: dict[str, Difference]  # of each other model over vanilla, all guessed groups counting alike


def choose(
    tables: Mapping[str, Predictions], guess: np.ndarray, pairs: float, *, guess_is_class: bool = True
) -> Choice:
    """`tables`: validation predictions by model, vanilla among them; `guess`: (N,) what the bias model named there;
    `pairs`: in S, in a batch. Attribute labels that the tables carry are taken away first."""
    hidden = {name: replace(without_labels(table), guess=guess) for name, table in tables.items()}
    plain = hidden[VANILLA]
    found = lean(plain, None if guess_is_class else spoken_for(plain.y, guess))
    gains = guessed_gains(plain, {name: table for name, table in hidden.items() if name != VANILLA})
    none = _no_evidence(found, pairs)
    if none:
        return Choice(VANILLA, False, ["The vanilla model is kept.", none], found, gains)
    assert found is not None
    name, gain = max(gains.items(), key=lambda item: item[1].difference)
    suggested = guess if guess_is_class else spoken_for(plain.y, guess)[guess]
    decision = _advantage(gain, followed_less(plain, hidden[name], suggested))
    kept = name if decision else VANILLA
    said = f"{name} is kept: {decision}." if decision else f"The vanilla model is kept: {name} is no clear gain."
    seen = [lean_sentence(VANILLA, found), *(gain_sentence(other, one) for other, one in gains.items())]
    return Choice(kept, True, [f"{said} All of this is about validation images.", *seen], found, gains)


def _advantage(gain: Difference, less: bool) -> str | None:
    """What speaks for the model that was trained against the shortcut; None if nothing does."""
    if gain.p < CLEAR:
        return "it is clearly better" if gain.difference > 0 else None
    if less:
        return "it follows the guess of the bias model clearly less often, and is not clearly worse"
    return None


def followed_less(plain: Predictions, other: Predictions, suggested: np.ndarray) -> bool:
    """Of the images whose guess contradicts their class, does the other model name the guess on clearly fewer?

    McNemar's exact test: if the models were alike, a coin would decide each time which of them alone follows.
    """
    against = suggested != plain.y
    first, second = ((table.prediction == suggested) & against for table in (plain, other))
    gone, new = int((first & ~second).sum()), int((second & ~first).sum())
    return gone > new and float(binomtest(new, gone + new).pvalue) < CLEAR


def _no_evidence(found: Lean | None, pairs: float) -> str | None:
    """Why nothing speaks for a shortcut; None if something does."""
    if pairs < FEWEST_PAIRS:
        return (
            f"There is no evidence of a shortcut that FLAC could work against: a batch has {pairs:.2g} pairs of images "
            "that share the class or the bias model's view, and not both."
        )
    if found is None or found.difference.n < FEWEST_AGAINST:
        n = 0 if found is None else found.difference.n
        return (
            f"There is no evidence of a shortcut: the bias model's guess contradicts the class of {n} validation "
            "images only, too few to tell anything."
        )
    if found.difference.low <= VISIBLE_GAP:
        return (
            "There is no evidence of a shortcut: where the bias model's guess contradicts the class, the vanilla model "
            f"names the guessed class for {with_range(found.follows)} of the validation images, hardly more often than "
            f"for other images of the same class ({percent(found.elsewhere.value)})."
        )
    return None
