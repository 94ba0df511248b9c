"""The features of a table of predictions in numbers: what they know of the attribute, and of the class."""

from collections.abc import Callable

import numpy as np

from fairflac.metrics.intervals import DRAWS, DRAWS_OF_PAIRS, SEED, never_certain, percentiles
from fairflac.metrics.measure import Measured
from fairflac.metrics.probes import balanced, held_out_answers
from fairflac.metrics.representation import (
    alignment_on_s,
    quadratic_mutual_information,
    similarities,
    subsample,
)
from fairflac.predictions import Predictions

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
    return Measured(value, *never_certain(value, drawn, alike), len(right))


def _of_pairs(statistic: Callable[[np.ndarray], float], weights: np.ndarray) -> Measured:
    """A sample drawn twice is paired with itself, which moves a resample, so intervals are moved back to the value."""
    n, value = len(weights), statistic(weights)
    times = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=DRAWS_OF_PAIRS)
    drawn = np.array([statistic(weights * drawn) for drawn in times])
    drawn = drawn[np.isfinite(drawn)]
    low, high = percentiles(drawn - drawn.mean() + value) if len(drawn) else (np.nan, np.nan)
    return Measured(value, low, high, n)
