"""Which witness to believe, decided without labels of the attribute. Its bounds come from docs/results/discovery.md."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairflac.discovery.witnesses import ORDINARY, contents, halves, judged
from fairflac.errors import UserError
from fairflac.metrics.evidence import FEWEST, Lean, aligned_class, count_guesses, lean, strength, usual_values
from fairflac.metrics.intervals import DRAWS_OF_PAIRS, SEED, Measured, percentiles
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import PROBED, balanced, measure_probe, subsample

STABLE = 0.5
SEPARATE = 1.1
ENOUGH = 0.1  # of the score; what is left of a shortcut that was taken out passes the other bounds now and then


@dataclass(frozen=True)
class Belief:
    """What speaks for a guess being an attribute that the classes lean on.

    Stability, for which every witness is asked twice, is not measured where something else speaks against the guess.
    """

    association: float  # of guess and class, Cramér's V: 0 for noise, 1 for the class itself
    stability: float | None  # of the guess over halves and seeds, adjusted Rand index: 0 by chance, 1 always the same
    separation: Measured  # of its values within classes: 1 where one hump is cut in two, as hard images are from others
    lean: Lean | None  # does an ordinary model name what the guess speaks for, where that contradicts the class?

    @property
    def score(self) -> float:
        """From 0 to 1: much for a guess alone that is stable, set apart, and followed by an ordinary model."""
        follows = 0.0 if self.lean is None else self.lean.difference.value
        apart = 1 - 1 / self.separation.value if self.separation.value > 1 else 0.0
        return max(follows, 0.0) * (1.0 if self.stability is None else max(self.stability, 0.0)) * apart

    @property
    def believed(self) -> bool:
        return not self.doubts()

    def doubts(self) -> list[str]:
        """Why it is not believed, in sentences."""
        found = []
        if self.lean is None or self.lean.difference.n < FEWEST:
            n = 0 if self.lean is None else self.lean.difference.n
            found.append(f"The guess contradicts the class of {n} images: too few to tell it from the class.")
        elif not strength("guess", self.lean.difference):
            found.append("An ordinary model does not follow the guess where it contradicts the class.")
        if self.stability is not None and self.stability < STABLE:
            found.append("Other halves of the images give another guess.")
        if not self.separation.low > SEPARATE:
            found.append("Images do not fall into those that have it and those that lack it: some may just be hard.")
        if not found and self.score < ENOUGH:
            found.append(f"All that speaks for it is weak: a score of {self.score:.2f}, where {ENOUGH} is asked for.")
        return found


def believe(features: np.ndarray, answers: Predictions, guess: np.ndarray, again: Callable[[], np.ndarray]) -> Belief:
    """(N, D) features, what an ordinary model says of them (`ordinary_answers`), a guess, and one with another seed."""
    y, few = answers.y, subsample(len(guess), PROBED)
    speaks_for = aligned_class(count_guesses(y, guess))
    once = Belief(
        association=association(y, guess),
        stability=None,
        separation=separation(features[few], y[few], guess[few]),
        lean=lean(replace(answers, guess=guess), speaks_for),
    )
    return replace(once, stability=stability(guess, again())) if once.believed else once


def separation(features: np.ndarray, y: np.ndarray, guess: np.ndarray) -> Measured:
    """How far apart the images of a class lie that have its usual value and those that have another, in units of what a
    normal distribution would show that is cut in two at the same shares.

    A held-out linear model of the guess gives each image one number, how much more it looks like the usual value of
    its class than like any other; the distance is Ashman's D (1994), over all classes, each moved to its usual images.
    n: images with another value.
    """
    codes = np.unique(guess, return_inverse=True)[1]
    usual = usual_values(count_guesses(y, codes))[y]
    other = codes != usual
    if min(other.sum(), (~other).sum()) < 2 or codes.max() == 0 or np.bincount(codes).min() < 2:
        return Measured(0.0, 0.0, 0.0, int(other.sum()))
    half = halves(contents(features), codes, np.random.default_rng(SEED))
    shares = judged(features, codes, half, C=ORDINARY, class_weight="balanced")
    logs, rows = np.log(np.maximum(shares, 1e-300)), np.arange(len(y))
    own = logs[rows, usual]
    logs[rows, usual] = -np.inf
    away = logs.max(1) - own
    for label in np.unique(y):
        ours = y == label
        away[ours] -= away[ours & ~other].mean() if (ours & ~other).any() else away[ours].mean()
    unit = _ashman(*_cut_normal(y, other))
    value = _ashman(*_moments(away[~other]), *_moments(away[other])) / unit
    rng = np.random.default_rng(SEED)
    drawn = [
        _ashman(*_moments(rng.choice(away[~other], (~other).sum())), *_moments(rng.choice(away[other], other.sum())))
        for _ in range(DRAWS_OF_PAIRS)
    ]
    return Measured(value, *percentiles(np.array(drawn) / unit), int(other.sum()))


def _moments(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.var())


def _ashman(mean: float, variance: float, other_mean: float, other_variance: float) -> float:
    return float(np.sqrt(2) * (other_mean - mean) / np.sqrt(max(variance + other_variance, 1e-300)))


def _cut_normal(y: np.ndarray, other: np.ndarray) -> tuple[float, float, float, float]:
    """Mean and variance of the usual and of the other part, if in every class one standard normal is cut in two.

    Moments of the truncated normal distribution; as above, each class is moved to the mean of its usual part.
    """
    from scipy.stats import norm  # takes a second to import

    labels, counts = np.unique(y, return_counts=True)
    rare = np.array([other[y == label].mean() for label in labels]).clip(1e-9, 1 - 1e-9)
    cut = norm.isf(rare)
    below, above = norm.pdf(cut) / (1 - rare), norm.pdf(cut) / rare  # minus the mean below the cut, the mean above
    usual_variance = np.average(1 - cut * below - below**2, weights=counts * (1 - rare))
    weights, means, variances = counts * rare, above + below, 1 + cut * above - above**2
    mean = np.average(means, weights=weights)
    return 0.0, usual_variance, mean, np.average(variances + (means - mean) ** 2, weights=weights)


def ordinary_answers(features: np.ndarray, y: np.ndarray, seed: int = 0) -> Predictions:
    """Of a linear model with an ordinary penalty, on images that it was not trained on."""
    shares = judged(features, y, halves(contents(features), y, np.random.default_rng(seed)), C=ORDINARY)
    return Predictions(np.arange(len(y)), y, shares.argmax(1), shares.max(1), features, bias={}, aligned={})


def association(y: np.ndarray, guess: np.ndarray) -> float:
    """Cramér's V of two columns."""
    counts = count_guesses(y, guess).astype(float)
    counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
    if min(counts.shape) < 2:
        return 0.0
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi_squared / counts.sum() / (min(counts.shape) - 1)))


def stability(guess: np.ndarray, again: np.ndarray) -> float:
    """Adjusted Rand index, which does not mind how values are numbered; 0 for a guess that is the same everywhere."""
    from sklearn.metrics import adjusted_rand_score  # takes a second to import

    return float(adjusted_rand_score(guess, again)) if len(np.unique(guess)) > 1 else 0.0


def check_order(features: np.ndarray, y: np.ndarray, source: str) -> None:
    """Rows in another order than the images tell nothing of their classes, and that can be seen."""
    told = measure_probe(features, y, balanced(y))
    if told.n and not told.low > 1 / len(np.unique(y)):
        raise UserError(
            f"'{source}' tells the class no better than chance: are its rows in the order of the listing? A folder is "
            "listed by class and then by name, a CSV file line by line"
        )
