"""A batch as FLAC sees it: both models' points, the labels, the threshold; and what comes out in the end."""

from typing import NamedTuple

from torch import Tensor

from fairflac.losses.flac.arrays import Array, as_tensor
from fairflac.losses.flac.distances import Points, row_tiles
from fairflac.losses.flac.kernels import Similarity
from fairflac.losses.flac.pairs import attribute_limits
from fairflac.losses.flac.settings import Settings


class Result(NamedTuple):
    """Numbers are tensors where reading them would mean to wait for a device."""

    value: float | Tensor
    gradient: Tensor  # (N, D)
    stats: dict[str, float | Tensor]


class Batch:
    """Of tensors or of ndarrays."""

    def __init__(self, bias: Array, features: Array, y: Array, settings: Settings) -> None:
        self.settings, self.y, self.n = settings, y, y.shape[0]
        self.tiles = row_tiles(self.n)
        self.similarity = Similarity(settings.kernel, settings.exponent)
        self.b, self.h = (Points(x, settings.kernel, settings.normalize) for x in (bias, features))
        self.limits = attribute_limits(self.b, self.h, self.tiles, self.similarity, settings.threshold)

    def result(self, value: Array, gradient: Array, pairs: Array, mixed: Array, single: Array) -> Result:
        """From sums over all pairs, and (N, D) the gradient in the points of `h`."""
        divisor = {"sum": 1.0, "mean": pairs + (pairs == 0), "batch": float(max(self.n, 1))}[self.settings.reduction]
        stats = {
            "pairs": pairs,
            "threshold": self.limits.threshold,
            "spread": self.limits.spread,
            "mixed_rows": mixed / self.n,
            "singleton_rows": single / self.n,
        }
        return Result(value / divisor, as_tensor(self.h.gradient_in_features(gradient, divisor)), stats)
