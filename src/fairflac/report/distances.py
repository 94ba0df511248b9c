"""How far apart test images are to a model, and what two of them share."""

import numpy as np

from fairflac.predictions import Predictions


def distances(features: np.ndarray) -> np.ndarray:
    """(N, N) Euclidean distances of features (N, D) that are first brought to unit length, as in the loss."""
    features = features.astype(np.float64)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(norms > 0, norms, 1)  # a network with all features at zero has no direction to keep
    squares = (unit**2).sum(axis=1)
    squared = np.maximum(squares[:, None] + squares - 2 * unit @ unit.T, 0)  # rounding can go below zero
    np.fill_diagonal(squared, 0)
    far: np.ndarray = np.sqrt(squared)
    return far


def same_attribute(table: Predictions) -> np.ndarray:
    """(N, N): do two images have the same value? Several attributes: the same in all of them."""
    same = np.ones((len(table), len(table)), dtype=bool)
    for values in table.bias.values():
        same &= values[:, None] == values
    return same


def conflicting(table: Predictions) -> np.ndarray:
    """(N,): does the value of some attribute not go with the class?"""
    found = np.zeros(len(table), dtype=bool)
    for goes_together in table.aligned.values():
        found |= ~goes_together
    return found
