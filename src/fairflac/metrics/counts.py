"""How often each class was predicted in each group: all that accuracies and fairness metrics need of a table."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from fairflac.metrics.predictions import Predictions

# (...) floats, one for each resample: what a metric is of `Counts` with such axes.
Values: TypeAlias = Any


@dataclass(frozen=True)
class Counts:
    """(..., C, K, C) images by class, attribute value and predicted class; leading axes are resamples.

    Values of the attribute that no image has are left out. Groups with too few images (see `Attribute.min_cell`) are
    in the counts, and `counted` tells that their accuracies do not count.
    """

    n: np.ndarray
    aligned: np.ndarray  # (C, K) does the value go with the class?
    counted: np.ndarray  # (C, K)

    @property
    def per_group(self) -> np.ndarray:
        """(..., C, K) images."""
        images: np.ndarray = self.n.sum(-1)
        return images

    @property
    def right(self) -> np.ndarray:
        """(..., C, K) images named rightly."""
        return np.moveaxis(np.diagonal(self.n, axis1=-3, axis2=-1), -1, -2)

    def resampled(self, times: int, seed: int) -> "Counts":
        """Bootstrap: every group drawn anew, with replacement, at its own size.

        What is drawn from one group is a multinomial of its predictions, so that no image needs to be touched.
        """
        sizes = self.per_group
        shares = self.n / np.maximum(sizes, 1)[..., None]
        shares[sizes == 0, 0] = 1  # a distribution, of which nothing is drawn
        drawn = np.random.default_rng(seed).multinomial(sizes, shares, size=(times, *sizes.shape))
        return replace(self, n=drawn)


def count(table: Predictions, attribute: str) -> Counts:
    """Groups of one attribute."""
    classes = int(max(table.y.max(initial=0), table.prediction.max(initial=0))) + 1
    values, bias = np.unique(table.bias[attribute], return_inverse=True)
    n = np.zeros((classes, len(values), classes), dtype=np.int64)
    np.add.at(n, (table.y, bias, table.prediction), 1)
    aligned = np.zeros((classes, len(values)), dtype=bool)
    aligned[table.y, bias] = table.aligned[attribute]
    return Counts(n, aligned, n.sum(-1) >= max(table.min_cell.get(attribute, 1), 1))


def count_without_groups(table: Predictions) -> Counts:
    """Where no attribute is known: all images of a class are one group."""
    nobody = {"": np.zeros_like(table.y)}
    return count(Predictions(**{**vars(table), "bias": nobody, "aligned": nobody, "min_cell": {}}), "")
