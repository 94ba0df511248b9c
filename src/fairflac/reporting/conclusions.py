"""The numbers in words. Nothing is called a help that the numbers do not show."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairflac.metrics import Measured, measure
from fairflac.metrics.comparison import Change, Difference, clearly_worse, compare
from fairflac.metrics.evidence import (
    GroupAccuracies,
    Guessed,
    Strength,
    aligned_class,
    beside_guess,
    effect_of_training,
    guessed_gains,
    with_pseudo_groups,
)
from fairflac.metrics.groups import SMALL
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import percent
from fairflac.reporting.naming import Names, has_groups, labels
from fairflac.reporting.results import GroupTable, Model, RunResult, on_the_same_images
from fairflac.reporting.text import with_range


class Conclusions(NamedTuple):
    """Paragraphs that answer two questions."""

    lean: list[str]  # does a model lean on the shortcut?
    gain: list[str]  # did training against it help?


def conclusions(
    models: Sequence[Model], numbers: Mapping[str, Mapping[str, Measured]], shortcut: str, size: float
) -> Conclusions:
    """One paragraph per model, and one for what cannot be said.

    `numbers` are by model and metric, `shortcut` is the attribute's name, `size` the number of test images behind an
    unbiased accuracy.
    """
    known = [(model, scores) for model in models if (scores := GroupAccuracies.of(numbers[model.name]))]
    if not known:
        return Conclusions([_unknown(numbers)], [])
    plain = [pair for pair in known if pair[0].method == "vanilla"]
    if not plain:
        return Conclusions(
            [f"{_rates(model, scores, shortcut)}: {_lean(scores, shortcut)}." for model, scores in known],
            [
                "There is no vanilla model of the same data among these runs, so this report cannot say whether the "
                "training helped."
            ],
        )
    base, base_scores = max(plain, key=lambda pair: pair[1].unbiased)  # the strongest one, so that no help is made up
    return Conclusions(
        [f"{_rates(base, base_scores, shortcut)}: {_lean(base_scores, shortcut)}."],
        [
            f"{_rates(model, scores, shortcut)}. {_comparison(scores, base_scores, base.name, shortcut, size)}"
            for model, scores in known
            if model is not base
        ],
    )


def _rates(model: Model, scores: GroupAccuracies, shortcut: str) -> str:
    seeds = f", in the mean of {model.seeds} seeds" if model.seeds > 1 else ""
    return (
        f"The {model.name} model{labels(model.run, shortcut).clause} is right on {with_range(scores.aligned)} of the "
        f"test images where the {shortcut} goes with the class and on {with_range(scores.conflicting)} where it does "
        f"not{seeds}"
    )


def _lean(scores: GroupAccuracies, shortcut: str) -> str:
    if scores.lean == "leans on a shortcut":
        return f"it {'reads' if scores.reads_attribute else 'leans on'} the {shortcut}"
    return {
        "signs of a shortcut": f"there are signs that it leans on the {shortcut}, a little",
        "no evidence": f"there is no evidence that it leans on the {shortcut}",
    }.get(scores.lean, f"these are too few to tell whether it leans on the {shortcut}")


def _comparison(scores: GroupAccuracies, base: GroupAccuracies, base_name: str, shortcut: str, size: float) -> str:
    numbers = (
        f"with every group counted alike it is right on {with_range(scores.unbiased)}, the {base_name} model on "
        f"{with_range(base.unbiased)}"
    )
    return {
        "worse": f"This did not help: {numbers}, so it is the worse of the two.",
        "no clear difference": f"This is no clear help: {numbers}, a difference too small to count on.",
        "better elsewhere": f"This is no help against the shortcut: {numbers}, but the gain is not where the "
        f"{shortcut} and the class disagree.",
        "better": f"This helps: {numbers}. {_remainder(scores, shortcut)}",
    }[effect_of_training(base, scores, size)]


def _remainder(scores: GroupAccuracies, shortcut: str) -> str:
    """What a model that is better still gets wrong."""
    worst = f"in its worst group, one class with one {shortcut}, it is right on {with_range(scores.worst_group)}"
    if scores.lean in ("leans on a shortcut", "signs of a shortcut"):
        return f"It is not free of the {shortcut}: it is still better where that goes with the class, and {worst}."
    return f"Whether the {shortcut} goes with the class makes no clear difference to it; {worst}."


def _unknown(numbers: Mapping[str, Mapping[str, Measured]]) -> str:
    accuracies = ", ".join(f"{name} {with_range(found['accuracy'])}" for name, found in numbers.items())
    return (
        "No label tells which test images follow a shortcut, so this report cannot say whether a model leans on one. "
        f"Accuracy over all test images: {accuracies}."
    )


# Said before the word "guess" is used.
GUESS = "A second model, the bias model, guesses at every image: its guess stands for what a shortcut would suggest."
FOUND = "Every image is in a group: its value, the guess, is what a shortcut would suggest."
HINT = "No label tells which test images follow a shortcut. {} Take what follows as a hint, not as proof."


def guessed_conclusions(models: Sequence[Model], tables: Mapping[str, Predictions]) -> Conclusions | None:
    """Of models that were tested on the same images; None if no bias model guessed anything there."""
    asked = next((model for model in models if model.name in tables and tables[model.name].guess is not None), None)
    if asked is None:
        return None
    guess, counts = tables[asked.name].guess, tables[asked.name].guess_counts
    assert guess is not None
    grouped = has_groups(asked.run.config)
    of_classes = not grouped and (asked.run.config.get("bias_model") or {}).get("target", "class") == "class"
    if counts is None and not of_classes:
        return None  # a run from before training guesses were counted: which class a value speaks for is not known
    speaks_for = None if of_classes or counts is None else aligned_class(counts)
    same = {name: replace(table, guess=guess, guess_counts=counts) for name, table in tables.items()}
    classes = len(Names.of(asked.run.result).classes) or len(np.unique(next(iter(same.values())).y))
    found = {name: beside_guess(table, speaks_for, classes=classes) for name, table in same.items()}
    sentences = [" ".join(beside_sentences(name, one)) for name, one in found.items()]
    return Conclusions([HINT.format(FOUND if grouped else GUESS), *sentences], _gains(models, same))


def beside_sentences(name: str, found: Guessed) -> list[str]:
    """The numbers, and what they say of a lean on what the bias model sees."""
    if found.agree is None or found.disagree is None:
        which = "never" if found.disagree is None else "always"
        return [f"The guess {which} contradicts the class, so nothing can be said about a shortcut."]
    sentences = [
        f"The {name} model is right on {with_range(found.agree)} of the images where the guess is right, and on "
        f"{with_range(found.disagree)} of the others."
    ]
    if found.lean is not None:
        sentences.append(
            f"Where the guess contradicts the class, it names the guessed class for {with_range(found.lean.follows)} "
            f"of the images, and for {percent(found.lean.elsewhere.value)} of other images of the same class."
        )
    return [*sentences, _conclusion(found)]


def _conclusion(found: Guessed) -> str:
    if found.strength is Strength.LEAN:
        return "It leans on a shortcut: it uses what the guess goes by."
    if found.strength is Strength.SIGN:
        return "These are signs of a shortcut: it uses what the guess goes by, or finds the same images hard."
    if found.by_chance and found.right is not None:
        return f"But the guess is no better than chance ({with_range(found.right)} right): no conclusion."
    if found.blind:
        return f"Only {found.against} images have a guess that contradicts their class: too few for a conclusion."
    return "These differences alone are too small to be called signs of a shortcut."


def gain_sentence(name: str, gain: Difference) -> str:
    ends = f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}, n = {gain.n:,}"
    return (
        f"With every group of class and guess counting alike, {name} is right on {percent(gain.second)} and vanilla on "
        f"{percent(gain.first)}: {100 * gain.difference:+.1f} points ({ends})."
    )


def harm_sentence(name: str, worse: Sequence[Change], names: Names, how: str = "") -> str:
    """Classes that lost by the change; `how` they were counted."""
    parts = [
        f"“{names.of_class(one.label)}” from {percent(one.before)} to {percent(one.after)} "
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
    "In brackets: the range in which the number would lie 95 times in 100 with other test images of the same kind, "
    "and n, the number of images."
)


def certainty(models: Sequence[Model], results: Sequence[RunResult], groups: Sequence[GroupTable]) -> list[str]:
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
    base = max(plain, key=lambda model: numbers[model.name].value)  # the strongest, as above
    tables = {base.name: base.run.predictions, **{m.name: m.run.predictions for m in models if m.method != "vanilla"}}
    first, *others = on_the_same_images(tables).items()
    words = [_gain(name, _worst(compare(first[1], table), key)) for name, table in others]
    return [f"Gain over vanilla: {', '.join(words)}."] if words else []


def _worst(found: Mapping[str, Difference], key: str) -> Difference:
    """Of several attributes, the one where the model is worst, as in the tables."""
    return min((one for name, one in found.items() if name.partition(":")[0] == key), key=lambda one: one.second)


def _gain(name: str, one: Difference) -> str:
    luck = "" if one.clear else ", which may be luck"
    ends = f"{100 * one.low:+.1f} to {100 * one.high:+.1f}"
    return f"{name} {100 * one.difference:+.1f} points ({ends}, n = {one.n:,}{luck})"


def _trained(seeds: Mapping[str, Sequence[RunResult]], key: str) -> str:
    several = {name: found for name, found in seeds.items() if len(found) > 1}
    if not several:
        return "Each model was trained once; another seed would give other numbers."
    spans = []
    for name, found in several.items():
        values = [result.numbers[key].value for result in found if key in result.numbers]
        if values:
            spans.append(f"{name} from {100 * min(values):.1f} to {100 * max(values):.1f} % ({len(found)} seeds)")
    return f"The ranges are those of the first seed. Over all seeds: {', '.join(spans)}."


def _small(groups: Sequence[GroupTable]) -> list[str]:
    return [
        f"{'All' if table.small == len(table.groups) else table.small} of the {len(table.groups)} groups of class and "
        f"{table.attribute} have fewer than {SMALL} test images: what is said of one group alone is a hint at most."
        for table in groups
        if table.small
    ]


def pseudo_group_sentences(tables: Mapping[str, Predictions]) -> list[str]:
    """One for each model that kept the guesses of its bias model."""
    sentences = []
    for name, table in tables.items():
        if guessed := with_pseudo_groups(table):
            numbers = measure(guessed)
            usual, other = numbers.get("aligned"), numbers.get("conflicting")
            if usual and other:
                sentences.append(
                    f"{name} is right on {with_range(usual)} of the images to which its bias model gives the usual "
                    f"guess for their class, and on {with_range(other)} of the others, all groups counting alike."
                )
    return sentences
