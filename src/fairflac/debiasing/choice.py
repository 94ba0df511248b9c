"""Which model to keep: decided on validation images, without a single attribute label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from fairflac.metrics.classes import Change, clearly_worse
from fairflac.metrics.comparison import CLEAR, Difference
from fairflac.metrics.evidence import Lean, Strength, Word, aligned_class, beside_guess, with_guess, word
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.naming import Names
from fairflac.reporting.sections.verdict import beside_sentences, gain_sentence, guessed_gains, harm_sentence

FEWEST_PAIRS = 1.0  # in a batch, of those that FLAC learns from
VANILLA = "vanilla"
WHERE = "All of this is about validation images."


@dataclass(frozen=True)
class Choice:
    """The model to keep, and why."""

    kept: str  # by name, as given
    verdict: Word  # about the vanilla model
    reasons: list[str]  # sentences
    lean: Lean | None  # of the vanilla model
    gains: dict[str, Difference]  # of each other model over vanilla, all guessed groups counting alike
    worse: dict[str, list[Change]]  # by model: classes that lost clearly against vanilla


def choose(
    tables: Mapping[str, Predictions],
    guess: np.ndarray,
    pairs: float,
    *,
    guess_is_class: bool = True,
    classes: Sequence[str] = (),
) -> Choice:
    """`tables`: validation predictions by model, vanilla among them; `guess`: (N,) what the bias model named there;
    `pairs`: in S, in a batch; `classes`: their names. Attribute labels that the tables carry are taken away first."""
    hidden = {name: with_guess(table.without_labels(), guess) for name, table in tables.items()}
    plain, others = hidden[VANILLA], {name: table for name, table in hidden.items() if name != VANILLA}
    assert plain.guess_counts is not None
    speaks_for = None if guess_is_class else aligned_class(plain.guess_counts)
    suggested = guess if speaks_for is None else speaks_for[guess]
    count = max(len(classes), len(np.unique(plain.y)))
    found = beside_guess(plain, speaks_for, classes=count, trial=(plain.y, suggested))
    gains = guessed_gains(plain, others)
    worse = {name: clearly_worse(plain, table, suggested == plain.y) for name, table in others.items()}
    name, gain = max(gains.items(), key=lambda item: item[1].difference)
    if found.strength is Strength.NONE or pairs < FEWEST_PAIRS:
        kept, said = VANILLA, f"The vanilla model is kept: {_nothing(found.blind, found.strength, pairs)}."
    elif advantage := _advantage(gain, followed_less(plain, others[name], suggested), bool(worse[name])):
        kept, said = name, f"{name} is kept: {advantage}."
    else:
        kept, said = VANILLA, f"The vanilla model is kept: {name} is no clear gain."
    alike = "right and wrong guesses counting alike within a class"
    harm = [harm_sentence(other, lost, Names(list(classes), {}), alike) for other, lost in worse.items() if lost]
    seen = [" ".join(beside_sentences(VANILLA, found)), *(gain_sentence(*one) for one in gains.items())]
    judged = word([found.strength], blind=found.blind)
    return Choice(kept, judged, [f"{said} {WHERE}", *harm, *seen], found.lean, gains, worse)


def _advantage(gain: Difference, less: bool, harms: bool) -> str | None:
    """What speaks for the model that was trained against the shortcut; None if nothing does."""
    if gain.p < CLEAR:
        return "it is clearly better with every group counting alike" if gain.difference > 0 else None
    if less and not harms:
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


def _nothing(blind: bool, strength: Strength, pairs: float) -> str:
    """Why training against a shortcut was not worth a comparison."""
    if strength is not Strength.NONE:
        return (
            f"FLAC had nothing to learn from: a batch has {pairs:.2g} pairs of images that share the class or the bias "
            "model's view, and not both"
        )
    return "these images cannot tell whether there is a shortcut" if blind else "there is no evidence of a shortcut"
