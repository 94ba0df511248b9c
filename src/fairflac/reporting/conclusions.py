"""The numbers in words. Nothing is called a help that the numbers do not show."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairflac.metrics import Measured
from fairflac.metrics.comparison import Change, Difference, clearly_worse, compare
from fairflac.metrics.evidence import Guessed, Strength
from fairflac.metrics.groups import SMALL
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import percent
from fairflac.reporting.naming import Names
from fairflac.reporting.results import GroupTable, Model, RunResult, on_the_same_images, strongest_vanilla
from fairflac.reporting.text import with_range

# Said before the word "guess" is used.
GUESS = "A second model, the bias model, guesses at every image: its guess stands for what a shortcut would suggest."
FOUND = "Every image is in a group, found or given: that is its guess, and stands for what a shortcut would suggest."


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
    right = {name: float(np.mean(table.prediction == table.y)) for name, table in tables.items()}
    base = strongest_vanilla(models, right)
    if base is None:
        return []
    names = Names.of(base.run.result)
    others = [model.name for model in models if model.method != "vanilla" and model.name in tables]
    found = {name: clearly_worse(tables[base.name], tables[name]) for name in others}
    return [harm_sentence(name, worse, names) for name, worse in found.items() if worse]


DRAWN = (
    "In brackets: the range in which the number would lie 95 times in 100 with other test images of the same kind, "
    "and n, the number of images."
)


def certainty(models: Sequence[Model], results: Sequence[RunResult], groups: Sequence[GroupTable]) -> list[str]:
    """Test images that were drawn, seeds that were not, and groups that are small."""
    key = "unbiased" if any("unbiased" in result.numbers for result in results) else "accuracy"
    seeds = {model.name: [r for r in results if r.row in model.rows] for model in models}
    first = {name: found[0].numbers[key] for name, found in seeds.items() if key in found[0].numbers}
    return [*_gain_lines(models, first, key), _trained(seeds, key), *_small(groups)]


def _gain_lines(models: Sequence[Model], numbers: Mapping[str, Measured], key: str) -> list[str]:
    """Image by image; a model that was tested on other images has no such number."""
    base = strongest_vanilla(models, {name: one.value for name, one in numbers.items()})
    if base is None:
        return []
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
