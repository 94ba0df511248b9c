"""Does a model lean on a shortcut, and did training against it help? Said where nobody has labelled the attribute.

What the bias model guesses stands in for it: a hint, and called so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairflac.metrics.classes import Change, clearly_worse
from fairflac.metrics.comparison import Difference, compare
from fairflac.metrics.evidence import Guessed, Strength, beside_guess
from fairflac.metrics.pseudo import spoken_for, with_pseudo_groups
from fairflac.predictions import Predictions
from fairflac.report.models import Model
from fairflac.report.names import Names
from fairflac.report.ranges import with_range
from fairflac.report.tables import percent
from fairflac.report.verdict import Verdict

HINT = (
    "The test images carry no label that tells which of them follow a shortcut and which do not; the guess of the bias "
    "model stands in for it. Take what follows as a hint and not as proof."
)


def guessed_verdict(models: Sequence[Model], tables: Mapping[str, Predictions]) -> Verdict | None:
    """Of models that were tested on the same images; None if no bias model guessed anything there."""
    asked = next((model for model in models if model.name in tables and tables[model.name].guess is not None), None)
    if asked is None:
        return None
    guess, counts = tables[asked.name].guess, tables[asked.name].guess_counts
    assert guess is not None
    of_classes = (asked.run.config.get("bias_model") or {}).get("target", "class") == "class"
    if counts is None and not of_classes:
        return None  # a run from before training guesses were counted: which class a value speaks for is not known
    speaks_for = None if of_classes or counts is None else spoken_for(counts)
    same = {name: replace(table, guess=guess, guess_counts=counts) for name, table in tables.items()}
    classes = len(Names.of(asked.run.result).classes) or len(np.unique(next(iter(same.values())).y))
    found = {name: beside_guess(table, speaks_for, classes=classes) for name, table in same.items()}
    sentences = [" ".join(beside_sentences(name, one)) for name, one in found.items()]
    return Verdict([HINT, *sentences], _gains(models, same))


def guessed_gains(plain: Predictions, others: Mapping[str, Predictions]) -> dict[str, Difference]:
    """Of each model over the plain one, image by image, all groups of class and guess counting alike."""
    base = with_pseudo_groups(plain)
    grouped = {name: with_pseudo_groups(table) for name, table in others.items()}
    return {
        name: compare(base, table)["unbiased"]
        for name, table in grouped.items()
        if base is not None and table is not None
    }


def beside_sentences(name: str, found: Guessed) -> list[str]:
    """The numbers, and what they say of a lean on what the bias model sees."""
    if found.agree is None or found.disagree is None:
        which = "never" if found.disagree is None else "always"
        return [f"The guess of the bias model {which} contradicts the class: nothing can be said about a lean on it."]
    sentences = [
        f"The {name} model is right on {with_range(found.agree)} of the images where the guess of the bias model is "
        f"right, and on {with_range(found.disagree)} of the others."
    ]
    if found.lean is not None:
        sentences.append(
            f"Where the guess contradicts the class, it names the guessed class for {with_range(found.lean.follows)} "
            f"of the images, and for {percent(found.lean.elsewhere.value)} of other images of the same class."
        )
    return [*sentences, _conclusion(found)]


def _conclusion(found: Guessed) -> str:
    if found.strength is Strength.LEAN:
        return "It leans on what the bias model sees."
    if found.strength is Strength.SIGN:
        return "These are signs of a shortcut: it leans on what the bias model sees, or finds the same images hard."
    if found.by_chance and found.right is not None:
        return (
            f"But the bias model guesses no better than chance ({with_range(found.right)} right): this tells nothing."
        )
    if found.blind:
        return f"That the guess contradicts the class of {found.against} images only is too little to tell anything."
    return "These differences are too small to be called signs of a shortcut."


def gain_sentence(name: str, gain: Difference) -> str:
    ends = f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}, n = {gain.n:,}"
    return (
        f"With every group of class and guess counting alike, {name} is right on {percent(gain.second)} and vanilla on "
        f"{percent(gain.first)}: {100 * gain.difference:+.1f} points ({ends})."
    )


def harm_sentence(name: str, worse: Sequence[Change], names: Names, how: str = "") -> str:
    """Classes that lost by the change; `how` they were counted."""
    parts = [
        f"{names.of_class(one.label)} from {percent(one.before)} to {percent(one.after)} "
        f"({100 * one.difference.low:+.1f} to {100 * one.difference.high:+.1f} points, n = {one.difference.n:,})"
        for one in worse
    ]
    return f"Classes that {name} names clearly worse than vanilla{how and f', {how}'}: {'; '.join(parts)}."


def harm_sentences(models: Sequence[Model], tables: Mapping[str, Predictions]) -> list[str]:
    """Of each model against the best vanilla model of the same test images."""
    base = _base(models, tables)
    if base is None:
        return []
    names = Names.of(next(model for model in models if model.name == base).run.result)
    others = [model.name for model in models if model.method != "vanilla" and model.name in tables]
    found = {name: clearly_worse(tables[base], tables[name]) for name in others}
    return [harm_sentence(name, worse, names) for name, worse in found.items() if worse]


def _base(models: Sequence[Model], tables: Mapping[str, Predictions]) -> str | None:
    plain = [model.name for model in models if model.method == "vanilla" and model.name in tables]
    right = {name: float(np.mean(tables[name].prediction == tables[name].y)) for name in plain}
    return max(plain, key=lambda name: right[name], default=None)


def _gains(models: Sequence[Model], tables: Mapping[str, Predictions]) -> list[str]:
    base = _base(models, tables)
    if base is None:
        return []
    others = {model.name: tables[model.name] for model in models if model.method != "vanilla" and model.name in tables}
    return [gain_sentence(name, gain) for name, gain in guessed_gains(tables[base], others).items()]
