"""How alike the test images are to a model, over the pairs that tell class from attribute (the set S of the paper)."""

from typing import NamedTuple

import numpy as np

from fairflac.errors import UserError
from fairflac.metrics.representation import MOST_SAMPLES, similarities, subsample
from fairflac.predictions import Predictions
from fairflac.report.shared import same_attribute


class PairSimilarities(NamedTuple):
    """Similarities in (0, 1], each pair once."""

    same_class: np.ndarray  # same class, different attribute
    same_attribute: np.ndarray  # different class, same attribute

    @property
    def class_first(self) -> float | None:
        """How often a pair of the same class is more alike than a pair of the same attribute; ties count half."""
        if not len(self.same_class) or not len(self.same_attribute):
            return None
        ordered = np.sort(self.same_attribute)
        below = np.searchsorted(ordered, self.same_class, "left") + np.searchsorted(ordered, self.same_class, "right")
        return float(below.mean() / 2 / len(ordered))


def pair_similarities(table: Predictions, most: int = MOST_SAMPLES) -> PairSimilarities:
    """K = 1 / (1 + ||a - b||) of unit-length features. Several attributes: the same means the same in all of them."""
    if not table.bias:
        raise UserError("similarities of pairs need test images with a known attribute")
    table = table.take(subsample(len(table), most))
    similarity = similarities(table.features)
    by_class, by_attribute = table.y[:, None] == table.y, same_attribute(table)
    once = np.triu(np.ones_like(by_class), k=1)
    return PairSimilarities(similarity[once & by_class & ~by_attribute], similarity[once & ~by_class & by_attribute])
