"""Similarity kernels K in (0, 1], all of them falling functions of a squared distance (Eq. 5, kernel ablation)."""

import math
from dataclasses import dataclass
from typing import Literal

from fairflac.losses.flac.arrays import Array, namespace

Kernel = Literal["student-t", "cosine", "rbf"]

# Inside the root: keeps the gradient of the distance finite for equal rows. Value of the released code.
DISTANCE_EPS = 1e-6


@dataclass(frozen=True)
class Similarity:
    """K as a function of s = ||a - b||², with the slope of its log and its inverse.

    - `student-t`: 1 / (1 + √(s + eps)^exponent), Eq. 5 for exponent 1
    - `cosine`: (1 + cos(a, b)) / 2 = 1 - s / 4 for unit rows
    - `rbf`: exp(-s / 2), unit width
    """

    kernel: Kernel
    exponent: float

    def of(self, squared: Array) -> Array:
        """K(s)."""
        if self.kernel == "cosine":
            return (1 - squared / 4).clip(0)
        if self.kernel == "rbf":
            return namespace(squared).exp(squared / -2)
        return 1 / (1 + self._power(squared + DISTANCE_EPS))

    def with_log_slope(self, squared: Array) -> tuple[Array, Array]:
        """K(s) and d log K / ds."""
        if self.kernel == "student-t":
            shifted = squared + DISTANCE_EPS
            power = self._power(shifted)
            value = 1 / (1 + power)
            return value, power * value / shifted * (-self.exponent / 2)
        value, xp = self.of(squared), namespace(squared)
        alive = value > xp.finfo(value.dtype).tiny  # where K has vanished it does not move
        return value, alive * -0.5 if self.kernel == "rbf" else xp.where(alive, -0.25 / value, 0)

    def at(self, squared: float) -> float:
        """K(s) of one pair."""
        if self.kernel == "cosine":
            return 1 - squared / 4
        if self.kernel == "rbf":
            return math.exp(-squared / 2)
        return 1 / (1 + math.pow(squared + DISTANCE_EPS, self.exponent / 2))

    def inverse(self, similarity: float) -> float:
        """The s at which K(s) = similarity; not above zero where K never gets that large."""
        if self.kernel == "cosine":
            return 4 * (1 - similarity)
        if self.kernel == "rbf":
            return -2 * math.log(similarity)
        return math.pow(max(1 / similarity - 1, 0), 2 / self.exponent) - DISTANCE_EPS

    def _power(self, shifted: Array) -> Array:
        """√shifted^exponent; two roots are several times faster than a power."""
        return (shifted**0.5) ** 0.5 if self.exponent == 0.5 else shifted ** (self.exponent / 2)
