"""How alike the test images are to a model, over the pairs that tell class from attribute (the set S of the paper)."""

from typing import NamedTuple

import numpy as np

from fairflac.errors import UserError
from fairflac.metrics import Measured
from fairflac.metrics.intervals import DRAWS_OF_PAIRS, SEED, percentiles
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
    similarity, red, blue = _pairs(table, most)
    return PairSimilarities(similarity[red], similarity[blue])


def class_first(table: Predictions, most: int = MOST_SAMPLES) -> Measured | None:
    """`PairSimilarities.class_first` with its interval, over images drawn anew: a pair counts as often as both are."""
    similarity, red, blue = _pairs(table, most)
    pairs = PairSimilarities(similarity[red], similarity[blue])
    if (value := pairs.class_first) is None:
        return None
    order = np.argsort(pairs.same_attribute)
    ends = [np.searchsorted(pairs.same_attribute[order], pairs.same_class, side) for side in ("left", "right")]
    (a, b), (c, d) = red.nonzero(), (rows[order] for rows in blue.nonzero())
    n, shares = len(similarity), []
    for times in np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=DRAWS_OF_PAIRS):
        below, above = np.concatenate([[0], np.cumsum(times[c] * times[d])]), times[a] * times[b]
        if total := int(below[-1]) * int(above.sum()):
            shares.append(float(above @ (below[ends[0]] + below[ends[1]])) / 2 / total)
    return Measured(value, *percentiles(np.array(shares or [value])), n)


def _pairs(table: Predictions, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N, N) similarities, and masks of the pairs that share the class alone and the attribute alone, each once."""
    if not table.bias:
        raise UserError("similarities of pairs need test images with a known attribute")
    table = table.take(subsample(len(table), most))
    by_class, by_attribute = table.y[:, None] == table.y, same_attribute(table)
    once = np.triu(np.ones_like(by_class), k=1)
    return similarities(table.features), once & by_class & ~by_attribute, once & ~by_class & by_attribute
