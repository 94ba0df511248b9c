"""Which part of each stored image is taken, in whole pixels."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

Size = tuple[int, int]  # height, width
Sides = np.ndarray | int  # one per image, or one for all

RATIO = (3 / 4, 4 / 3)  # width to height of a random resized crop
ATTEMPTS = 10  # at a box that fits into the image, after which the largest one is taken
AREA_DRAWS = 2 * ATTEMPTS + 2


@dataclass(frozen=True)
class Boxes:
    """One rectangle per image, all (B,); those that are flipped are read from right to left."""

    top: np.ndarray
    left: np.ndarray
    height: np.ndarray
    width: np.ndarray
    flipped: np.ndarray

    @classmethod
    def centre(cls, count: int, stored: Size, size: Size) -> Self:
        top, left = centre_offset(stored, size)
        return cls._upright(np.full(count, top), np.full(count, left), *size)

    @classmethod
    def shifted(cls, uniform: np.ndarray, stored: Size, size: Size) -> Self:
        """Anywhere in the image with equal probability; `uniform` is (2, B)."""
        top, left = (np.floor(u * (s - t + 1)) for u, s, t in zip(uniform, stored, size, strict=True))
        return cls._upright(top, left, *size)

    @classmethod
    def of_random_area(cls, uniform: np.ndarray, stored: Size, scale: tuple[float, float]) -> Self:
        """The box of the usual random resized crop, with the same distribution; `uniform` is (AREA_DRAWS, B).

        The share of the area is uniform in `scale`, the logarithm of the ratio in that of RATIO, and a box that does
        not fit into the image is drawn again.
        """
        rows, columns = stored
        low, high = (math.log(ratio) for ratio in RATIO)
        area = rows * columns * (scale[0] + (scale[1] - scale[0]) * uniform[:ATTEMPTS])
        ratio = np.exp(low + (high - low) * uniform[ATTEMPTS : 2 * ATTEMPTS])
        heights, widths = np.rint(np.sqrt(area / ratio)), np.rint(np.sqrt(area * ratio))  # (ATTEMPTS, B)
        fits = (heights > 0) & (heights <= rows) & (widths > 0) & (widths <= columns)
        first = fits.argmax(0), np.arange(fits.shape[1])
        fallback = min(rows, round(columns / RATIO[0])), min(columns, round(rows * RATIO[1]))
        height = np.where(fits.any(0), heights[first], fallback[0])
        width = np.where(fits.any(0), widths[first], fallback[1])
        top, left = uniform[-2] * (rows - height + 1), uniform[-1] * (columns - width + 1)
        return cls._upright(np.floor(top), np.floor(left), height, width)

    @classmethod
    def _upright(cls, top: np.ndarray, left: np.ndarray, height: Sides, width: Sides) -> Self:
        whole = [np.broadcast_to(side, top.shape).astype(np.int64) for side in (top, left, height, width)]
        return cls(whole[0], whole[1], whole[2], whole[3], flipped=np.zeros(top.shape, dtype=bool))

    def flip(self, uniform: np.ndarray) -> Self:
        """Half of them, by (B,) uniform numbers."""
        return replace(self, flipped=uniform < 0.5)


def centre_offset(stored: Size, size: Size) -> Size:
    """Top and left of the middle part; of two middles the first."""
    return (stored[0] - size[0]) // 2, (stored[1] - size[1]) // 2
