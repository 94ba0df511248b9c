"""What features know of the attribute: quadratic mutual information, and similarities over S."""

from typing import NamedTuple

import numpy as np

MOST_SAMPLES = 1000  # half a million pairs: more do not change the picture


class QMI(NamedTuple):
    """The information potentials of the paper (Eq. 15-18)."""

    v_in: float  # pairs within each attribute value
    v_all: float  # all pairs
    v_btw: float  # pairs of one value and all

    @property
    def value(self) -> float:
        """V_IN + V_ALL - 2 V_BTW. The integral form, Eq. 15, lacks the 2; its own estimate and proof have it."""
        return self.v_in + self.v_all - 2 * self.v_btw


def quadratic_mutual_information(kernel: np.ndarray, attribute: np.ndarray, weights: np.ndarray | None = None) -> QMI:
    """(N, N) similarities, (N,) → 0 if features and attribute are independent, and more the more they share.

    It is Σ_t ∫ (p(h, t) - p(h) P(t))² dh with densities estimated by the kernel. The paper wants balanced data, and
    `probes.balanced(y, attribute)` makes them so by weights: without these, features that know the class and nothing
    else would share with the attribute whatever class and attribute share. A finite sample adds about 1 / N.
    """
    share = np.full(len(attribute), 1 / len(attribute)) if weights is None else weights / weights.sum()
    values = attribute == np.unique(attribute)[:, None]  # (K, N)
    inside = values * share  # (K, N)
    probability = inside.sum(1)  # (K,)
    towards_all = kernel @ share  # (N,)
    return QMI(
        v_in=float(np.einsum("ki,ij,kj->", inside, kernel, inside, optimize=True)),
        v_all=float((probability**2).sum() * (share @ towards_all)),
        v_btw=float(probability @ (inside @ towards_all)),
    )


def similarities(features: np.ndarray) -> np.ndarray:
    """(N, D) → (N, N): K = 1 / (1 + ||a - b||) of unit-length features (Eq. 5)."""
    similarity: np.ndarray = 1 / (1 + distances(features))
    return similarity


def distances(features: np.ndarray) -> np.ndarray:
    """(N, D) → (N, N): Euclidean distances of features brought to unit length, as in the loss."""
    features = features.astype(np.float64)
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    unit = features / np.where(norms > 0, norms, 1)  # a network with all features at zero has no direction to keep
    squares = (unit**2).sum(axis=1)
    squared = np.maximum(squares[:, None] + squares - 2 * unit @ unit.T, 0)  # rounding can go below zero
    np.fill_diagonal(squared, 0)
    far: np.ndarray = np.sqrt(squared)
    return far


def alignment_on_s(
    kernel: np.ndarray, y: np.ndarray, attribute: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Correlation, over the pairs of S (Eq. 1), of how alike two images are and whether they share their class.

    Pairs of S share either their class or the attribute. 1: the class alone decides; -1: the attribute does. NaN if S
    lacks a half, or all its pairs are equally alike.
    """
    same_class, same_attribute = (values[:, None] == values for values in (y, attribute))
    i, j = np.nonzero(np.triu(same_class ^ same_attribute, k=1))
    alike, shared = kernel[i, j], same_class[i, j].astype(float)
    weight = np.ones(len(i)) if weights is None else weights[i] * weights[j]
    if not weight.sum():
        return float("nan")
    alike, shared = (values - np.average(values, weights=weight) for values in (alike, shared))
    product = np.average(alike * shared, weights=weight)
    spread = np.sqrt(np.average(alike**2, weights=weight) * np.average(shared**2, weights=weight))
    return float(product / spread) if spread > 1e-12 else float("nan")


def subsample(n: int, most: int = MOST_SAMPLES) -> np.ndarray:
    """The same rows for every model of one test split."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
