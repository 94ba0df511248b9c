"""The numbers in words. Nothing is called a help that the numbers do not show."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from fairflac.metrics import Measured, measure
from fairflac.metrics.classes import Change, clearly_worse
from fairflac.metrics.comparison import CLEAR, Difference, compare
from fairflac.metrics.evidence import (
    Guessed,
    Strength,
    Word,
    aligned_class,
    beside_guess,
    gap,
    strength,
    with_pseudo_groups,
    word,
)
from fairflac.metrics.groups import SMALL
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import percent
from fairflac.reporting.models import Model, on_the_same_images
from fairflac.reporting.naming import Names, labels
from fairflac.reporting.sections.results import GroupTable, Result
from fairflac.reporting.text.tables import with_range

VISIBLE_GAIN = 0.01  # of unbiased accuracy; less is no help worth the name, however many test images there are


class Verdict(NamedTuple):
    """Paragraphs that answer two questions."""

    lean: list[str]  # does a model lean on the shortcut?
    gain: list[str]  # did training against it help?


class Scores(NamedTuple):
    """The numbers that need a known attribute."""

    unbiased: Measured
    aligned: Measured
    conflicting: Measured
    worst_group: Measured

    @property
    def lean(self) -> Word:
        """By how much the model loses where the attribute does not go with the class."""
        found = strength("attribute", gap(self.aligned, self.conflicting))
        return word([found], blind=self.conflicting.n < SMALL)


def verdict(
    models: Sequence[Model], numbers: Mapping[str, Mapping[str, Measured]], shortcut: str, size: float
) -> Verdict:
    """One paragraph per model, and one for what cannot be said.

    `numbers` are by model and metric, `shortcut` is the attribute's name, `size` the number of test images behind an
    unbiased accuracy.
    """
    known = [(model, scores) for model in models if (scores := _scores(numbers[model.name]))]
    if not known:
        return Verdict([_unknown(numbers)], [])
    plain = [pair for pair in known if pair[0].method == "vanilla"]
    if not plain:
        return Verdict(
            [f"{_rates(model, scores, shortcut)}: {_lean(scores, shortcut)}." for model, scores in known],
            [
                "There is no vanilla model of the same data among these runs, so this report cannot say whether the "
                "training helped."
            ],
        )
    base, base_scores = max(plain, key=lambda pair: pair[1].unbiased)  # the strongest one, so that no help is made up
    return Verdict(
        [f"{_rates(base, base_scores, shortcut)}: {_lean(base_scores, shortcut)}."],
        [
            f"{_rates(model, scores, shortcut)}. {_comparison(scores, base_scores, base.name, shortcut, size)}"
            for model, scores in known
            if model is not base
        ],
    )


def margin(first: float, second: float, size: float) -> float:
    """How far two accuracies over `size` images must differ to count: two standard errors, and a point at least."""
    return max(VISIBLE_GAIN, 2 * sqrt((first * (1 - first) + second * (1 - second)) / size))


def _scores(numbers: Mapping[str, Measured]) -> Scores | None:
    """None: the attribute is not known, or some kind of group has no image."""
    return Scores(*(numbers[name] for name in Scores._fields)) if numbers.keys() >= set(Scores._fields) else None


def _rates(model: Model, scores: Scores, shortcut: str) -> str:
    seeds = f", in the mean of {model.seeds} seeds" if model.seeds > 1 else ""
    return (
        f"The {model.name} model{labels(model.run, shortcut).clause} is right on {with_range(scores.aligned)} of the "
        f"test images where the {shortcut} goes with the class and on {with_range(scores.conflicting)} where it does "
        f"not{seeds}"
    )


def _lean(scores: Scores, shortcut: str) -> str:
    if scores.lean == "leans on a shortcut":
        reads = scores.conflicting.value < scores.aligned.value / 2
        return f"it {'reads' if reads else 'leans on'} the {shortcut}"
    return {
        "signs of a shortcut": f"there are signs that it leans on the {shortcut}, a little",
        "no evidence": f"there is no evidence that it leans on the {shortcut}",
    }.get(scores.lean, f"these are too few to tell whether it leans on the {shortcut}")


def _comparison(scores: Scores, base: Scores, base_name: str, shortcut: str, size: float) -> str:
    first, second = base.unbiased.value, scores.unbiased.value
    gain, enough = second - first, margin(first, second, size)
    numbers = f"with every group counted alike it is right on {with_range(scores.unbiased)}"
    against = f"the {base_name} model on {with_range(base.unbiased)}"
    if gain < -enough:
        return f"This did not help: {numbers}, {against}, so it is the worse of the two."
    if gain <= enough:
        return f"This is no clear help: {numbers}, {against}, a difference too small to count on."
    if scores.conflicting.value <= base.conflicting.value:
        return (
            f"This is no help against the shortcut: {numbers}, {against}, but the gain is not where the {shortcut} "
            "and the class disagree."
        )
    return f"This helps: {numbers}, {against}. {_remainder(scores, shortcut)}"


def _remainder(scores: Scores, shortcut: str) -> str:
    """What a model that is better still gets wrong."""
    worst = f"in its worst group, one class with one {shortcut}, it is right on {with_range(scores.worst_group)}"
    if scores.lean in ("leans on a shortcut", "signs of a shortcut"):
        return f"It is not free of the {shortcut}: it is still better where that goes with the class, and {worst}."
    return f"Whether the {shortcut} goes with the class makes no clear difference to it; {worst}."


def _unknown(numbers: Mapping[str, Mapping[str, Measured]]) -> str:
    accuracies = ", ".join(f"{name} {with_range(found['accuracy'])}" for name, found in numbers.items())
    return (
        "The test images carry no label that tells which of them follow a shortcut and which do not. This report "
        f"can therefore not say whether a model leans on one. Accuracy over all test images: {accuracies}."
    )


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
    speaks_for = None if of_classes or counts is None else aligned_class(counts)
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


DRAWN = (
    "In brackets: the range within which a number would lie 95 times in 100 with other test images of the same kind, "
    "and n, how many images it is about."
)


def certainty(models: Sequence[Model], results: Sequence[Result], groups: Sequence[GroupTable]) -> list[str]:
    """Test images that were drawn, seeds that were not, and groups that are small."""
    key = "unbiased" if any("unbiased" in result.numbers for result in results) else "accuracy"
    seeds = {model.name: [r for r in results if r.row in model.rows] for model in models}
    first = {name: found[0].numbers[key] for name, found in seeds.items() if key in found[0].numbers}
    return [DRAWN, *_gain_lines(models, first, key), _trained(seeds, key), *_small(groups)]


def _gain_lines(models: Sequence[Model], numbers: Mapping[str, Measured], key: str) -> list[str]:
    """Image by image; a model that was tested on other images has no such number."""
    plain = [model for model in models if model.method == "vanilla" and model.name in numbers]
    if not plain:
        return []
    base = max(plain, key=lambda model: numbers[model.name].value)  # the strongest, as in the verdict
    tables = {base.name: base.run.predictions, **{m.name: m.run.predictions for m in models if m.method != "vanilla"}}
    first, *others = on_the_same_images(tables).items()
    words = [_gain(name, _worst(compare(first[1], table), key)) for name, table in others]
    return [f"Gain over vanilla: {', '.join(words)}."] if words else []


def _worst(found: Mapping[str, Difference], key: str) -> Difference:
    """Of several attributes, the one where the model is worst, as in the tables."""
    return min((one for name, one in found.items() if name.partition(":")[0] == key), key=lambda one: one.second)


def _gain(name: str, one: Difference) -> str:
    luck = "" if one.p < CLEAR else ", which may be luck"
    ends = f"{100 * one.low:+.1f} to {100 * one.high:+.1f}"
    return f"{name} {100 * one.difference:+.1f} points ({ends}, n = {one.n:,}{luck})"


def _trained(seeds: Mapping[str, Sequence[Result]], key: str) -> str:
    several = {name: found for name, found in seeds.items() if len(found) > 1}
    if not several:
        return "Each model was trained once; another seed would give other numbers."
    spans = []
    for name, found in several.items():
        values = [result.numbers[key].value for result in found if key in result.numbers]
        if values:
            spans.append(f"{name} from {100 * min(values):.1f} to {100 * max(values):.1f} % over {len(found)} seeds")
    return f"The ranges are those of the first seed; trained anew: {', '.join(spans)}."


def _small(groups: Sequence[GroupTable]) -> list[str]:
    return [
        f"{'All' if table.small == len(table.groups) else table.small} of the {len(table.groups)} groups of class and "
        f"{table.attribute} have fewer than 30 test images: what is said of one group alone is a hint at most."
        for table in groups
        if table.small
    ]


def pseudo_group_sentences(tables: Mapping[str, Predictions]) -> list[str]:
    """One for each model that kept what its bias model named."""
    sentences = []
    for name, table in tables.items():
        if guessed := with_pseudo_groups(table):
            numbers = measure(guessed)
            usual, other = numbers.get("aligned"), numbers.get("conflicting")
            if usual and other:
                sentences.append(
                    f"{name} is right on {with_range(usual)} of the images for which its bias model named what it "
                    f"usually named for training images of their class, and on {with_range(other)} of the others, "
                    "groups counting alike."
                )
    return sentences
