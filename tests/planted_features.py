"""Features of images that nobody drew: a class, an attribute that goes with it, and noise."""

from typing import NamedTuple

import numpy as np


class Planted(NamedTuple):
    features: np.ndarray  # (N, D) float32
    y: np.ndarray
    attribute: np.ndarray


def planted(n: int = 800, q: float = 0.9, classes: int = 2, seed: int = 0, attribute: float = 6.0) -> Planted:
    """The attribute is two clusters far apart; the class is a shift of a noisy number, hard for some images."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    value = np.where(rng.random(n) < q, y, (y + rng.integers(1, classes, n)) % classes)
    noise = rng.standard_normal((n, 3 * classes + 6))
    noise[np.arange(n), y] += 1.5
    noise[np.arange(n), classes + value] += attribute
    noise[np.arange(n), 2 * classes + value] += attribute
    return Planted(noise.astype(np.float32), y, value)
