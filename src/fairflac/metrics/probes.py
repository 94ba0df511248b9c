"""What features give away: the accuracy of a linear model on samples that it was not fitted on."""

import numpy as np
from sklearn.linear_model import RidgeClassifier

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
    model = RidgeClassifier(alpha=RIDGE * len(fitted)).fit(x[fitted], labels[fitted], weights[fitted])
    return model.predict(x[held]) == labels[held], weights[held]


def balanced(*labels: np.ndarray) -> np.ndarray:
    """(N,) weights with which every combination of labels that occurs counts the same."""
    _, cell, counts = np.unique(np.stack(labels), axis=1, return_inverse=True, return_counts=True)
    weights: np.ndarray = len(cell) / len(counts) / counts[cell]  # 1 on average
    return weights
