"""The numbers in words. Nothing is called a help that the numbers do not show."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from fairflac.metrics import Measured
from fairflac.metrics.evidence import Word, gap, strength, word
from fairflac.metrics.groups import SMALL
from fairflac.report.labels import labels
from fairflac.report.models import Model
from fairflac.report.ranges import with_range

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
