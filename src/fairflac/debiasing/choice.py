"""Which model to keep, on validation images and without a single attribute label."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from fairflac.debiasing.bias_model import VANILLA
from fairflac.metrics.comparison import Change, Difference, clearly_worse, compare
from fairflac.metrics.evidence import (
    FEWEST,
    Guessed,
    Lean,
    Strength,
    Word,
    aligned_class,
    beside_guess,
    follows_less,
    with_guess,
    with_pseudo_groups,
    word,
    worst_guessed_group,
)
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import percent
from fairflac.reporting.conclusions import FOUND, GUESS, beside_sentences, gain_sentence, harm_sentence
from fairflac.reporting.naming import Names

FEWEST_PAIRS = 1.0  # in a batch, of those that FLAC learns from
# Confidence of a guess that counts here. A few wrong guesses are most of a group that hardly exists, and hide how bad
# a model is there: of the boys that were found among 8,400 faces every third is a man
# (docs/results/faces-without-labels.md).
SURE = 0.9
WHERE = "All of this is about validation images"


@dataclass(frozen=True)
class ModelChoice:
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
    sure: np.ndarray | None = None,
    believed: bool = True,
) -> ModelChoice:
    """Of the models that something clearly speaks for, the one whose worst group is best; else vanilla.

    Attribute labels that the tables carry are taken away first.

    Args:
        tables: validation predictions by model, vanilla among them.
        guess: (N,) values that a bias model, or groups that were found, give these images.
        pairs: in S, in a batch.
        guess_is_class: values are classes; else each speaks for the class that has it most often.
        classes: their names.
        sure: (N,) whether a guess counts, of groups that were found or given; None: by a bias model, and all count.
        believed: such groups are there because discovery believes in them; else a person gave them.
    """
    rows = _counted(tables[VANILLA], guess, sure, guess_is_class)
    guess = guess[rows]
    hidden = {name: with_guess(table.without_labels().take(rows), guess) for name, table in tables.items()}
    plain, others = hidden[VANILLA], {name: table for name, table in hidden.items() if name != VANILLA}
    assert plain.guess_counts is not None
    speaks_for = None if guess_is_class else aligned_class(plain.guess_counts)
    suggested = guess if speaks_for is None else speaks_for[guess]
    count = max(len(classes), len(np.unique(plain.y)))
    found = beside_guess(plain, speaks_for, classes=count, trial=(plain.y, suggested), found=sure is not None)
    compared = {name: _Compared.of(plain, table, suggested) for name, table in others.items()}
    gains = {name: one.gain for name, one in compared.items()}
    worse = {name: one.worse for name, one in compared.items()}
    # Groups are trained against only if discovery believes in them, by all images that are not for tests. Where those
    # that are looked at here are too few to say so again, its word stands; and a gain against groups, found or given,
    # is a sign too.
    before, leans = sure is not None and believed, found.strength is Strength.LEAN
    few = before and found.against < FEWEST
    advantages = {
        name: said
        for name, one in compared.items()
        if (said := one.promise(found) if few else one.advantage(leans=leans, found_before=before))
    }
    unseen = sure is not None and found.strength is Strength.NONE
    strength = Strength.SIGN if unseen and (advantages or (before and found.blind)) else found.strength
    if strength is Strength.NONE or pairs < FEWEST_PAIRS:
        kept, said = VANILLA, f"The vanilla model is kept: {_nothing(found.blind, strength, pairs)}."
    elif advantages and few:
        kept = next(iter(advantages))
        said = f"{kept} is kept: {advantages[kept]}{_before(advantages, kept)}."
    elif advantages:
        kept = max(advantages, key=lambda name: (worst_guessed_group(others[name]), gains[name].difference))
        said = f"{kept} is kept: {advantages[kept]}{_also(advantages, kept)}."
    else:
        kept, said = VANILLA, f"The vanilla model is kept: {' and '.join(others)} brought no clear gain."
    alike = "right and wrong guesses counting alike within a class"
    harm = [harm_sentence(other, lost, Names(list(classes), {}), alike) for other, lost in worse.items() if lost]
    said_of_vanilla = " ".join([GUESS if sure is None else FOUND, *beside_sentences(VANILLA, found)])
    seen = [said_of_vanilla, *(gain_sentence(*one) for one in gains.items())]
    judged = word([strength], blind=found.blind)
    where = f"{WHERE}{'' if sure is None else ' whose guess is sure'}."
    return ModelChoice(kept, judged, [f"{said} {where}", *harm, *seen], found.lean, gains, worse)


def _counted(table: Predictions, guess: np.ndarray, sure: np.ndarray | None, guess_is_class: bool) -> np.ndarray:
    """Positions of the images that count: all, where too few that contradict their class are left of the sure ones."""
    every = np.arange(len(guess))
    if sure is None:
        return every
    values = with_guess(table, guess).guess_counts
    suggested = guess if guess_is_class or values is None else aligned_class(values)[guess]
    return every if int((sure & (suggested != table.y)).sum()) < FEWEST else every[sure]


@dataclass(frozen=True)
class _Compared:
    """A model beside vanilla, image by image."""

    gain: Difference  # all groups of class and guess counting alike
    worse: list[Change]  # classes that lost, right and wrong guesses counting alike
    aligned: Difference | None  # the gain where the guess goes with the class; None: nowhere
    against: Difference | None  # and where it contradicts it
    worse_against: list[Change]  # classes that lost there
    follows_less: bool

    @classmethod
    def of(cls, plain: Predictions, other: Predictions, suggested: np.ndarray) -> "_Compared":
        first, second = with_pseudo_groups(plain), with_pseudo_groups(other)
        assert first is not None and second is not None
        found, against = compare(first, second), np.flatnonzero(suggested != plain.y)
        return cls(
            gain=found["unbiased"],
            worse=clearly_worse(plain, other, suggested == plain.y),
            aligned=found.get("aligned"),
            against=found.get("conflicting"),
            worse_against=clearly_worse(plain.take(against), other.take(against)),
            follows_less=follows_less(plain, other, suggested),
        )

    def advantage(self, *, leans: bool, found_before: bool) -> str | None:
        """What speaks for the model; None if nothing does.

        `leans`: vanilla does, on the images that are looked at; `found_before`: discovery believes in the shortcut.

        What a class loses where the guess is right may be what the shortcut gave it. What it loses where the guess
        contradicts it is a loss. That a gain is clear is asked for because there may be no shortcut; where there is
        one, the better of two numbers is the better bet. Against what discovery believes in, training has gained in
        every set of docs/results/discovery.md, also where the few validation images that contradict it did not show it.
        """
        if self.gain.clear:
            return "it is clearly better with every group counting alike" if self.gain.difference > 0 else None
        if self.against and self.against.clear and self.against.difference > 0 and not self.worse_against:
            return (
                f"where the guess contradicts the class it is right on {percent(self.against.second)}, and vanilla on "
                f"{percent(self.against.first)}; with every group counting alike it is not clearly worse"
            )
        if self.follows_less and not self.worse:
            return "it follows the guess clearly less often, and is not clearly worse"
        gains = [one.difference for one in (self.gain, self.against) if one]
        if self.worse_against or len(gains) < 2:
            return None
        if leans and min(gains) > 0:
            return (
                "vanilla leans on the shortcut, and it is better, if not clearly, with every group counting alike and "
                "where the guess contradicts the class"
            )
        if found_before and max(gains) > 0:
            where = "with every group counting alike" if gains[0] > 0 else "where the guess contradicts the class"
            return f"a shortcut was found among all images, and it is better {where}, if not clearly"
        return None

    def promise(self, found: Guessed) -> str | None:
        """The same where hardly an image contradicts the guess: it is luck which model is right on those, vanilla too.
        Discovery has seen more: the shortcut is there, and training against such has gained in every set of
        docs/results/discovery.md. What can speak against the model all the same: that it is worse where the guess
        contradicts the class; or that it lost so much elsewhere that, did it no worse where the guess contradicts, a
        vanilla model at chance there would still be better.
        """
        if self.worse_against or self.aligned is None:
            return None
        if self.aligned.second <= (self.aligned.first + 1 / found.classes) / 2:
            return None
        seen = f"Only {found.against}" if found.against else "None"
        return (
            f"a shortcut was found among all images. {seen} of those looked at here contradict it, too few to say "
            "what training against it brings, and nothing speaks against it"
        )


def _before(promises: Mapping[str, str], kept: str) -> str:
    """Why the first, FLAC, where these images do not tell one model from another: where one image in a hundred
    contradicts, it and LISA gained alike (docs/results/faces-without-labels.md)."""
    others = " and ".join(name for name in promises if name != kept)
    return f". The same holds for {others}, and these images do not tell which is better" if others else ""


def _also(advantages: Mapping[str, str], kept: str) -> str:
    """Why it, where something speaks for others too."""
    others = " and ".join(name for name in advantages if name != kept)
    return f". Its worst group is no worse than that of {others}, for which something speaks too" if others else ""


def _nothing(blind: bool, strength: Strength, pairs: float) -> str:
    """Why training against a shortcut was not worth a comparison."""
    if strength is not Strength.NONE:
        return (
            f"FLAC had nothing to learn from: a batch has {pairs:.2g} pairs of images that share the class or the "
            "guess, and not both"
        )
    return "these images cannot tell whether there is a shortcut" if blind else "there is no evidence of a shortcut"


@dataclass(frozen=True)
class SeedResult:
    """What one seed gave."""

    seed: int
    choice: ModelChoice
    scores: dict[str, float]  # by model: right answers on validation images, all guessed groups (or classes) alike
    test: dict[str, float]  # by model: accuracy on test images


@dataclass(frozen=True)
class SeedsChoice:
    """The kind of model that most seeds keep, and of its models the one in the middle."""

    kept: str
    seed: int
    votes: dict[str, int]  # by kind: seeds that would keep it
    reasons: list[str]  # sentences


def choose_over_seeds(results: Sequence[SeedResult]) -> SeedsChoice:
    """One seed decides nothing. Of kinds with as many seeds the one with the better mean is kept.

    The median is the model to expect: the best of several is partly luck, which new images do not share. Of an even
    number it is the lower of the two in the middle.
    """
    votes = Counter(one.choice.kept for one in results)
    kept = max(votes, key=lambda kind: (votes[kind], fmean(one.scores[kind] for one in results)))
    order = sorted(results, key=lambda one: one.scores[kept])
    middle = order[(len(order) - 1) // 2]
    others = "".join(f"; {count} would keep {kind}" for kind, count in votes.items() if kind != kept)
    count, alike = len(results), "every group of class and guess" if middle.choice.gains else "every class"
    reasons = [
        f"{kept} is kept, as {votes[kept]} of {count} seeds would by themselves{others}. Of its {count} models the one "
        f"in the middle is kept, seed {middle.seed}, and not the best, which is partly luck.",
        f"On validation images, {alike} counting alike, {over_seeds([one.scores for one in results])}.",
        f"Seed {middle.seed} alone: {middle.choice.reasons[0]}",
        *middle.choice.reasons[1:],
    ]
    return SeedsChoice(kept, middle.seed, dict(votes), reasons)


def summary_over_seeds(values: Sequence[float]) -> dict[str, float]:
    """`std`: of a sample."""
    spread = stdev(values) if len(values) > 1 else 0.0
    return {"mean": fmean(values), "std": spread, "lowest": min(values), "highest": max(values)}


def over_seeds(numbers: Sequence[Mapping[str, float]]) -> str:
    """Mean, standard deviation and range of each model, in words."""
    said = []
    for name in numbers[0]:
        found = summary_over_seeds([100 * one[name] for one in numbers])
        said.append("{} {mean:.1f} ± {std:.1f} % ({lowest:.1f} to {highest:.1f})".format(name, **found))
    return f"mean and standard deviation over {len(numbers)} seeds: {', '.join(said)}"


def balanced_accuracy(table: Predictions) -> float:
    """Every class counting alike."""
    right = table.prediction == table.y
    return fmean(float(np.mean(right[table.y == label])) for label in np.unique(table.y))
