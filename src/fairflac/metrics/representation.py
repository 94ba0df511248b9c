"""The features of a table of predictions in numbers: what they know of the attribute, and of the class."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairflac.metrics.intervals import DRAWS, DRAWS_OF_PAIRS, SEED, Measured, clopper_pearson_if_constant, percentiles
from fairflac.metrics.predictions import Predictions

PROBES = ("class_probe", "attribute_probe")  # of what is measured here, the shares of images
PROBED = 5000  # samples that the probes see: more hardly change their answers


def measure_features(table: Predictions) -> dict[str, Measured]:
    """Every group of class and attribute counts alike, so that only what the features themselves know shows.

    - `class_probe`, `attribute_probe:NAME`: what a linear model tells from the features (`probes`)
    - `qmi:NAME`: quadratic mutual information of features and attribute, see `representation`
    - `alignment:NAME`: does class or attribute decide how alike two images of a pair in S are?
    """
    few, fewer = subsample(len(table), PROBED), subsample(len(table))
    features, y, kernel = table.features[few], table.y, similarities(table.features[fewer])
    numbers = {"class_probe": measure_probe(features, y[few], balanced(y[few], *(b[few] for b in table.bias.values())))}
    for name, bias in table.bias.items():
        weights = balanced(y, bias)
        numbers[f"attribute_probe:{name}"] = measure_probe(features, bias[few], weights[few])
        of_pairs = _pair_statistics(kernel, y[fewer], bias[fewer], weights[fewer])
        numbers |= {f"{key}:{name}": measured for key, measured in of_pairs.items()}
    return {name: measured for name, measured in numbers.items() if np.isfinite(measured.value)}


def _pair_statistics(
    kernel: np.ndarray, y: np.ndarray, attribute: np.ndarray, weights: np.ndarray
) -> dict[str, Measured]:
    """What pairs of samples say of class and attribute."""
    return {
        "qmi": _of_pairs(lambda w: quadratic_mutual_information(kernel, attribute, w).value, weights),
        "alignment": _of_pairs(lambda w: alignment_on_s(kernel, y, attribute, w), weights),
    }


def measure_probe(features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Measured:
    """A linear probe whose interval is of the held-out samples; the probe itself stays as it was fitted."""
    right, weights = held_out_answers(features, labels, weights)
    if not len(right):
        return Measured(np.nan, np.nan, np.nan, 0)
    draws = np.random.default_rng(SEED).integers(0, len(right), (DRAWS, len(right)))
    value = float(right.mean()) if right.all() or not right.any() else float(np.average(right, weights=weights))
    drawn = percentiles(np.average(right[draws], axis=1, weights=weights[draws]))
    alike = weights.sum() ** 2 / np.square(weights).sum()  # as many that weigh alike would be as sure
    return Measured(value, *clopper_pearson_if_constant(value, drawn, alike), len(right))


def _of_pairs(statistic: Callable[[np.ndarray], np.ndarray], weights: np.ndarray) -> Measured:
    """A sample drawn twice is paired with itself, which moves a resample, so intervals are moved back to the value."""
    n, value = len(weights), float(statistic(weights))
    times = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=DRAWS_OF_PAIRS)
    drawn = statistic(weights * times)
    drawn = drawn[np.isfinite(drawn)]
    low, high = percentiles(drawn - drawn.mean() + value) if len(drawn) else (np.nan, np.nan)
    return Measured(value, low, high, n)


MOST_SAMPLES = 1000  # half a million pairs: more do not change the picture


class QMI(NamedTuple):
    """The information potentials of the paper (Eq. 15-18), one for each resample."""

    v_in: np.ndarray  # pairs within each attribute value
    v_all: np.ndarray  # all pairs
    v_btw: np.ndarray  # pairs of one value and all

    @property
    def value(self) -> np.ndarray:
        """V_IN + V_ALL - 2 V_BTW. The integral form, Eq. 15, lacks the 2; its own estimate and proof have it."""
        information: np.ndarray = self.v_in + self.v_all - 2 * self.v_btw
        return information


def quadratic_mutual_information(kernel: np.ndarray, attribute: np.ndarray, weights: np.ndarray | None = None) -> QMI:
    """(N, N) similarities, (N,), (…, N) → 0 if features and attribute are independent, and more the more they share.

    It is Σ_t ∫ (p(h, t) - p(h) P(t))² dh with densities estimated by the kernel. The paper wants balanced data, and
    `balanced(y, attribute)` makes them so by weights: without these, features that know the class and nothing
    else would share with the attribute whatever class and attribute share. A finite sample adds about 1 / N.
    """
    weights = np.ones(len(attribute)) if weights is None else weights
    share = weights / weights.sum(-1, keepdims=True)  # (…, N)
    values, value_of = np.unique(attribute, return_inverse=True)
    probability = share @ (attribute[:, None] == values)  # (…, K)
    towards_all, towards_own = share @ kernel, share @ (kernel * (attribute[:, None] == attribute))  # (…, N)
    return QMI(
        v_in=(share * towards_own).sum(-1),
        v_all=(probability**2).sum(-1) * (share * towards_all).sum(-1),
        v_btw=(share * towards_all * probability[..., value_of]).sum(-1),
    )


def similarities(features: np.ndarray) -> np.ndarray:
    """(N, D) → (N, N): K = 1 / (1 + ||a - b||) of unit-length features (Eq. 5)."""
    similarity: np.ndarray = 1 / (1 + distances(features))
    return similarity


def distances(features: np.ndarray) -> np.ndarray:
    """(N, D) → (N, N): Euclidean distances of features brought to unit length, as in the loss."""
    unit = unit_length(features)
    squares = (unit**2).sum(axis=1)
    squared = np.maximum(squares[:, None] + squares - 2 * unit @ unit.T, 0)  # rounding can go below zero
    np.fill_diagonal(squared, 0)
    far: np.ndarray = np.sqrt(squared)
    return far


def unit_length(features: np.ndarray) -> np.ndarray:
    features = features.astype(np.float64)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit: np.ndarray = features / np.where(norms > 0, norms, 1)  # all features at zero have no direction to keep
    return unit


def alignment_on_s(
    kernel: np.ndarray, y: np.ndarray, attribute: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Correlation, over the pairs of S (Eq. 1), of how alike two images are and whether they share their class.

    Pairs of S share either their class or the attribute. 1: the class alone decides; -1: the attribute does. NaN if S
    lacks a half, or all its pairs are equally alike. Leading axes of the weights are resamples, and stay.
    """
    weights = np.ones(len(y)) if weights is None else weights
    same_class, same_attribute = (values[:, None] == values for values in (y, attribute))
    in_s = same_class ^ same_attribute
    middle = kernel[in_s].mean() if in_s.any() else 0.0  # taken off, so that squares keep their digits
    alike, shared = kernel - middle, same_class.astype(float)

    def mean(of_pairs: np.ndarray) -> np.ndarray:
        average: np.ndarray = (weights @ (in_s * of_pairs) * weights).sum(-1) / pairs
        return average

    with np.errstate(invalid="ignore", divide="ignore"):  # NaN, where S is empty
        pairs = (weights @ in_s * weights).sum(-1)
        covariance = mean(alike * shared) - mean(alike) * mean(shared)
        variances = (mean(alike**2) - mean(alike) ** 2) * (mean(shared) - mean(shared) ** 2)
        spread = np.sqrt(np.maximum(variances, 0))
        return np.where(spread > 1e-12, covariance / spread, np.nan)


def subsample(n: int, most: int = MOST_SAMPLES) -> np.ndarray:
    """The same rows for every model of one test split."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


HELD_OUT = 0.5
RIDGE = 1e-3  # per sample, of standardised features: enough to be stable where features are copies of each other


def linear_probe(features: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, seed: int = 0) -> float:
    """(N, D), (N,) → share of held-out samples, by weight, whose label the features tell.

    Weights such as `balanced(y, bias)` make the probe blind to what merely goes with the label.
    """
    right, weights = held_out_answers(features, labels, weights, seed)
    return float(np.average(right, weights=weights)) if len(right) else float("nan")


def held_out_answers(
    features: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """(M,) bool and (M,) weights: which held-out samples the probe names rightly; none if it cannot be fitted."""
    weights = np.ones(len(labels)) if weights is None else weights
    spread = features.std(0)
    x = (features - features.mean(0)) / np.where(spread > 0, spread, 1)
    order = np.random.default_rng(seed).permutation(len(labels))
    held, fitted = np.split(order, [round(HELD_OUT * len(order))])
    if len(np.unique(labels[fitted])) < 2:
        return np.zeros(0, dtype=bool), np.zeros(0)
    from sklearn.linear_model import RidgeClassifier  # takes a second to import

    model = RidgeClassifier(alpha=RIDGE * len(fitted)).fit(x[fitted], labels[fitted], weights[fitted])
    return model.predict(x[held]) == labels[held], weights[held]


def balanced(*labels: np.ndarray) -> np.ndarray:
    """(N,) weights with which every combination of labels that occurs counts the same."""
    _, cell, counts = np.unique(np.stack(labels), axis=1, return_inverse=True, return_counts=True)
    weights: np.ndarray = len(cell) / len(counts) / counts[cell]  # 1 on average
    return weights


NEAREST = 8  # as many as in the paper's Fig. 4


def nearest(features: np.ndarray, count: int = NEAREST) -> np.ndarray:
    """(N, D) → (N, count) rows nearest to each row, itself left out, the nearest first; of equals the first."""
    return nearest_of(features, features, count, np.arange(len(features)))[0]


def nearest_of(
    features: np.ndarray, candidates: np.ndarray, count: int = NEAREST, own: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(N, count) candidates nearest to each row, the nearest first, and how far they are.

    `own`: (N,) which candidate a row itself is, and does not count; -1: none.
    """
    rows, others = unit_length(features), unit_length(candidates)
    squared = (rows**2).sum(1)[:, None] + (others**2).sum(1) - 2 * rows @ others.T
    far = np.sqrt(np.maximum(squared, 0))  # rounding can go below zero
    if own is not None:
        mine = np.flatnonzero(own >= 0)
        far[mine, own[mine]] = np.inf
    most = min(count, len(candidates) - (own is not None))
    order: np.ndarray = np.argsort(far, axis=1, kind="stable")[:, :most]
    return order, np.take_along_axis(far, order, axis=1)
