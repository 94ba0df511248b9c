"""Does a model lean on a shortcut? One rule for every command and page, which only put it into words.

What counts is the lower end of an interval: more than chance explains. docs/audit.md has the models, with a planted
shortcut and without one, that the bounds come from.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from math import inf, sqrt
from typing import Literal, NamedTuple

import numpy as np

from fairflac.metrics import scores
from fairflac.metrics.comparison import CLEAR, Difference, compare, mcnemar
from fairflac.metrics.groups import SMALL
from fairflac.metrics.intervals import (
    Measured,
    Statistic,
    clopper_pearson_if_constant,
    difference,
    intervals,
    share,
    share_interval,
)
from fairflac.metrics.predictions import Counts, Predictions, Values, count
from fairflac.metrics.scores import measure_counts

NAME = "guess of the bias model"


def count_guesses(y: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """(C, K) images by class and guess: of training images, or of others like them."""
    counts = np.zeros((int(y.max(initial=0)) + 1, int(guess.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(counts, (y, guess), 1)
    return counts


def aligned_class(counts: np.ndarray) -> np.ndarray:
    """(C, K) → (K,) the class that each guessed value of an attribute speaks for: the one that has it most often."""
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    best: np.ndarray = share.argmax(0)
    return best


def usual_values(counts: np.ndarray) -> np.ndarray:
    """(C, K) images → (C,) the value that goes with each class: which it has more often than others have."""
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    usual: np.ndarray = (share - counts.sum(0) / counts.sum()).argmax(1)
    return usual


def with_guess(table: Predictions, guess: np.ndarray) -> Predictions:
    """For images like those of the training, such as a validation split: the guesses, counted here."""
    return replace(table, guess=guess, guess_counts=count_guesses(table.y, guess))


def with_pseudo_groups(table: Predictions) -> Predictions | None:
    """The same table with the bias model's guess as its attribute; None if the attribute is known, or no guess is.

    A guess goes with a class that has it more often than others have. What is measured on such groups is not
    bias against people or backgrounds, but how a model does where its bias model was wrong: worth a look, no evidence.
    """
    if table.bias or table.guess is None or table.guess_counts is None:
        return None
    aligned = table.guess == usual_values(table.guess_counts)[table.y]
    return replace(table, bias={NAME: table.guess}, aligned={NAME: aligned}, guess=None, guess_counts=None)


def guessed_gains(plain: Predictions, others: Mapping[str, Predictions]) -> dict[str, Difference]:
    """Of each model over the plain one, image by image, all groups of class and guess counting alike."""
    base = with_pseudo_groups(plain)
    grouped = {name: with_pseudo_groups(table) for name, table in others.items()}
    return {
        name: compare(base, table)["unbiased"]
        for name, table in grouped.items()
        if base is not None and table is not None
    }


def worst_guessed_group(table: Predictions) -> float:
    """Accuracy of the worst group of class and guess that has FEWEST images or more."""
    grouped = with_pseudo_groups(table)
    assert grouped is not None
    counts = count(grouped, NAME)
    sizes = counts.per_group
    return float((counts.right / np.maximum(sizes, 1))[sizes >= FEWEST].min(initial=1.0))


GUESS = "guess"


class Lean(NamedTuple):
    """Shares of the images whose guess contradicts their class."""

    follows: Measured  # the model names the guessed class
    elsewhere: Measured  # how often it names that class for images of the same true class that are guessed otherwise
    difference: Measured  # the first minus the second: 0 without a shortcut, 1 for a model that reads nothing else


def lean(table: Predictions, speaks_for: np.ndarray | None = None) -> Lean | None:
    """From predictions and the bias model's `guess`; None if there is no guess, or none that contradicts a class.

    `speaks_for`: (K,) the class that each guessed value goes with, where guesses are not classes themselves.
    """
    if table.guess is None:
        return None
    suggested = table.guess if speaks_for is None else speaks_for[table.guess]
    pseudo = replace(table, bias={GUESS: suggested}, aligned={GUESS: suggested == table.y}, min_cell={}, repeats={})
    counts = _by_suggestion(pseudo)
    against = int(_against(counts).sum())
    if not against or not (suggested == table.y).any():
        return None
    metrics: dict[str, Statistic] = {"follows": _follows, "elsewhere": _elsewhere}
    ends = intervals(counts, metrics)
    follows, elsewhere = (
        Measured(value, *clopper_pearson_if_constant(value, ends[name], against), against)
        for name, metric in metrics.items()
        for value in [float(metric(counts))]
    )
    return Lean(follows, elsewhere, difference(follows, elsewhere, n=against))


def _by_suggestion(table: Predictions) -> Counts:
    """As `count`, with one column for every class, also those that are never suggested."""
    counted, suggested = count(table, GUESS).n, np.unique(table.bias[GUESS])
    known = len(counted)  # classes that there are or that were named; one that is neither may still be suggested
    classes = max(known, int(suggested.max(initial=0)) + 1)
    n = np.zeros((classes, classes, classes), dtype=np.int64)
    n[:known, suggested, :known] = counted
    return Counts(n, np.eye(classes, dtype=bool), n.sum(-1) > 0)


def _comparable(counts: Counts) -> Values:
    """(..., C, C) by class and guess: the guess speaks for another class, and not for all images of this one."""
    others = counts.per_group.sum(-1, keepdims=True) - counts.per_group
    return (others > 0) & ~np.eye(counts.n.shape[-1], dtype=bool)


def _against(counts: Counts) -> Values:
    """(..., C, C) images of a class whose guess speaks for another."""
    return counts.per_group * _comparable(counts)


def _named(counts: Counts) -> Values:
    """(..., C, C) of them, those for which the model names what the guess speaks for."""
    return np.diagonal(counts.n, axis1=-2, axis2=-1) * _comparable(counts)


def _follows(counts: Counts) -> Values:
    return _named(counts).sum((-2, -1)) / np.maximum(_against(counts).sum((-2, -1)), 1)


def _elsewhere(counts: Counts) -> Values:
    """The rate among images of the same class that are guessed otherwise, weighted as the images above."""
    against = _against(counts)
    of_class = counts.n.sum(-2)  # (..., C, C) images by class and prediction
    others = of_class.sum(-1, keepdims=True) - counts.per_group
    rate = (of_class - np.diagonal(counts.n, axis1=-2, axis2=-1)) / np.maximum(others, 1)
    return (against * rate).sum((-2, -1)) / np.maximum(against.sum((-2, -1)), 1)


Word = Literal["leans on a shortcut", "signs of a shortcut", "no evidence", "cannot tell"]
Kind = Literal["attribute", "cue", "guess", "found", "accuracy"]


class Strength(IntEnum):
    NONE = 0
    SIGN = 1  # more than chance, and something else than a shortcut may explain it
    LEAN = 2


class Bounds(NamedTuple):
    """The lower end of an interval lies above it."""

    sign: float
    lean: float


BOUNDS: dict[Kind, Bounds] = {
    # Accuracy where a labelled attribute goes with the class, minus where it does not.
    "attribute": Bounds(0.0, 0.05),
    # How much more often a cue is followed than anyway: faces without a shortcut reach 0.3 (hair, at the border).
    "cue": Bounds(0.15, 0.4),
    # How much more often the guess of a bias model is named than anyway: weak models without a shortcut reach 0.4.
    "guess": Bounds(0.15, 0.6),
    # The same of groups that discovery believes in, which are no mere hard images, also of two classes: the lower ends
    # of models that ignore them lie below 0, of models that follow them above 0.3.
    "found": Bounds(0.15, 0.3),
    # Accuracy where that guess is right, minus where it is wrong. Hard images make such a gap too, however large.
    "accuracy": Bounds(0.15, inf),
}
UNLIKE = 0.02  # lost from validation to test images, at least: these are of another kind
TELLING = 3  # classes: of two, an image that is merely hard is named as it is guessed too, however little that means
FEWEST = 10  # images whose guess contradicts their class: fewer are luck, and fewer than SMALL show no absence


def strength(kind: Kind, found: Measured | None) -> Strength:
    bounds, low = BOUNDS[kind], -inf if found is None else found.low
    return Strength.LEAN if low > bounds.lean else Strength.SIGN if low > bounds.sign else Strength.NONE


def word(strengths: Iterable[Strength], *, blind: bool) -> Word:
    """The strongest counts; `blind`: the images would not have shown it."""
    most = max(strengths, default=Strength.NONE)
    if most is Strength.LEAN:
        return "leans on a shortcut"
    if most is Strength.SIGN:
        return "signs of a shortcut"
    return "cannot tell" if blind else "no evidence"


@dataclass(frozen=True)
class Guessed:
    """How a model does beside a bias model, whose guess stands in for an attribute that nobody has labelled."""

    classes: int
    right: Measured | None  # guesses, classes counting alike; of images like those it was trained on. None: not asked
    agree: Measured | None  # accuracy of the model where the guess is right; None: there is no such image
    disagree: Measured | None  # where it is wrong
    lean: Lean | None
    found: bool = False  # not by a bias model: groups that discovery believes in

    @property
    def gap(self) -> Measured | None:
        """How much less often the model is right where the guess is wrong."""
        if self.agree is None or self.disagree is None:
            return None
        return difference(self.agree, self.disagree, n=self.disagree.n)

    @property
    def by_chance(self) -> bool:
        """The bias model knows nothing of the classes."""
        return self.right is not None and self.right.low <= 1 / self.classes

    @property
    def against(self) -> int:
        """Images whose guess contradicts their class."""
        return 0 if self.disagree is None else self.disagree.n

    @property
    def blind(self) -> bool:
        """A shortcut would not have shown."""
        return self.by_chance or self.against < SMALL

    @property
    def strength(self) -> Strength:
        if self.by_chance or self.against < FEWEST:
            return Strength.NONE
        if self.found:
            return strength("found", None if self.lean is None else self.lean.difference)
        most = Strength.LEAN if self.classes >= TELLING else Strength.SIGN
        named = strength("guess", None if self.lean is None else self.lean.difference)
        return max(min(named, most), strength("accuracy", self.gap))


def beside_guess(
    table: Predictions,
    speaks_for: np.ndarray | None = None,
    *,
    classes: int,
    trial: tuple[np.ndarray, np.ndarray] | None = None,
    found: bool = False,
) -> Guessed:
    """From a table with guesses; `speaks_for`: as in `lean`; `found`: as in `Guessed`.

    `trial`: (M,) classes and suggested classes of images like those that the bias model was trained on and which it
    has not seen. On images that were chosen so that no shortcut works it guesses by chance, and rightly so.
    """
    assert table.guess is not None
    suggested = table.guess if speaks_for is None else speaks_for[table.guess]
    agrees, right = suggested == table.y, table.prediction == table.y
    agree, disagree = (share(right[rows]) if rows.any() else None for rows in (agrees, ~agrees))
    return Guessed(classes, trial and _by_class(*trial), agree, disagree, lean(table, speaks_for), found)


def attribute_gaps(table: Predictions) -> dict[str, Measured]:
    """Per attribute: accuracy where it goes with the class, minus where it does not (n of these images), groups
    counting alike. Left out where all images, or none, go with their class."""
    kinds = {name: scores.METRICS[name] for name in ("aligned", "conflicting")}
    found = {}
    for name in table.bias:
        numbers = measure_counts(count(replace(table, repeats={}), name), kinds)
        if len(numbers) == len(kinds):
            found[name] = gap(numbers["aligned"], numbers["conflicting"])
    return found


def lost_on_test(validation: Measured, test: Measured) -> Measured | None:
    """Validation accuracy minus test accuracy, where chance does not explain it; None where it may.

    Images that were drawn alike differ by chance, and the best of several epochs by a little more: the interval has to
    lie above UNLIKE.
    """
    found = difference(validation, test)
    return found if found.low > UNLIKE else None


class Explained(NamedTuple):
    """Accuracy on the test images whose attribute goes with the class, and on the others."""

    attribute: str
    aligned: Measured
    conflicting: Measured


def explained_by_attribute(validation: Measured, table: Predictions) -> Explained | None:
    """Which attribute explains what is lost on the test images: nothing is lost where it goes with the class."""
    right = table.prediction == table.y
    for name, aligned in table.aligned.items():
        if not aligned.any() or aligned.all():
            continue
        inside, outside = share(right[aligned]), share(right[~aligned])
        if lost_on_test(validation, inside) is None and lost_on_test(inside, outside) is not None:
            return Explained(name, inside, outside)
    return None


def gap(aligned: Measured, conflicting: Measured) -> Measured:
    """How much a model loses where the attribute does not go with the class."""
    return difference(aligned, conflicting, n=conflicting.n)


def _by_class(y: np.ndarray, guess: np.ndarray) -> Measured:
    """Share of right guesses, classes counting alike."""
    rates = [guess[y == label] == label for label in np.unique(y)]
    sizes = np.array([len(rate) for rate in rates])
    value = float(np.mean([rate.mean() for rate in rates]))
    return Measured(value, *share_interval(value, round(scores.effective_size(sizes))), len(y))


VISIBLE_GAIN = 0.01  # of unbiased accuracy; less is no help worth the name, however many test images there are
Effect = Literal["worse", "no clear difference", "better elsewhere", "better"]


class GroupAccuracies(NamedTuple):
    """The accuracies of a model that need a known attribute."""

    unbiased: Measured
    aligned: Measured
    conflicting: Measured
    worst_group: Measured

    @classmethod
    def of(cls, numbers: Mapping[str, Measured]) -> "GroupAccuracies | None":
        """By name of the metric. None: the attribute is not known, or some kind of group has no image."""
        return cls(*(numbers[name] for name in cls._fields)) if numbers.keys() >= set(cls._fields) else None

    @property
    def lean(self) -> Word:
        """By how much the model loses where the attribute does not go with the class."""
        found = strength("attribute", gap(self.aligned, self.conflicting))
        return word([found], blind=self.conflicting.n < SMALL)

    @property
    def reads_attribute(self) -> bool:
        """More than the class: without the attribute it is right less than half as often."""
        return self.conflicting.value < self.aligned.value / 2


def effect_of_training(base: GroupAccuracies, other: GroupAccuracies, size: float) -> Effect:
    """Did training against the attribute help? `size`: test images behind an unbiased accuracy.

    A gain counts as help only where attribute and class disagree; elsewhere it has another cause.
    """
    first, second = base.unbiased.value, other.unbiased.value
    gain, enough = second - first, margin(first, second, size)
    if abs(gain) <= enough:
        return "no clear difference"
    if gain < 0:
        return "worse"
    return "better" if other.conflicting.value > base.conflicting.value else "better elsewhere"


def margin(first: float, second: float, size: float) -> float:
    """How far two accuracies over `size` images must differ to count: two standard errors, and a point at least."""
    return max(VISIBLE_GAIN, 2 * sqrt((first * (1 - first) + second * (1 - second)) / size))


def effective_size(table: Predictions) -> float:
    """Of the attribute whose unbiased accuracy is measured least precisely; without one, the number of images."""
    sizes = []
    for name, values in table.bias.items():
        n = np.unique(np.stack([table.y, values]), axis=1, return_counts=True)[1]
        sizes.append(n[n >= table.min_cell.get(name, 1)])
    return min((scores.effective_size(n) for n in sizes if len(n)), default=float(len(table)))


def follows_less(plain: Predictions, other: Predictions, suggested: np.ndarray) -> bool:
    """Of the images whose guess contradicts their class, does the other model name the guess on clearly fewer?"""
    against = suggested != plain.y
    first, second = ((table.prediction == suggested) & against for table in (plain, other))
    gone, new = int((first & ~second).sum()), int((second & ~first).sum())
    return gone > new and mcnemar(new, gone) < CLEAR
