"""Crops of images to tensors of one size: cut without a change where they have it, interpolated elsewhere."""

import math
from dataclasses import dataclass, replace
from typing import Self, overload

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.data.pixels.stored import Pixels

Size = tuple[int, int]  # height, width
Sides = np.ndarray | int  # one per image, or one for all

RATIO = (3 / 4, 4 / 3)  # width to height of a random resized crop
ATTEMPTS = 10  # at a box that fits into the image, after which the largest one is taken
AREA_NUMBERS = 2 * ATTEMPTS + 2


@dataclass(frozen=True)
class Crops:
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
        """The box of the usual random resized crop, with the same distribution; `uniform` is (AREA_NUMBERS, B).

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


@overload
def centre_crop(images: np.ndarray, size: Size) -> np.ndarray: ...


@overload
def centre_crop(images: Pixels, size: Size) -> Pixels: ...


def centre_crop(images: Pixels, size: Size) -> Pixels:
    """(..., H, W, C) → (..., h, w, C): the middle of them, without a copy."""
    top, left = centre_offset((images.shape[-3], images.shape[-2]), size)
    return images[..., top : top + size[0], left : left + size[1], :]


def cut(raw: Tensor, crops: Crops, size: Size) -> Tensor:
    """(B, H, W, 3) bytes → the crops, all of which have this size, as (B, h, w, 3) bytes."""
    count, rows, columns, channels = raw.shape
    y = crops.top[:, None] + np.arange(size[0])
    x = crops.left[:, None] + _read(np.arange(size[1]), crops)
    pixel = ((np.arange(count)[:, None] * rows + y) * columns)[:, :, None] + x[:, None]  # (B, h, w)
    # One flat selection is ten times faster than three-dimensional indexing.
    chosen = raw.reshape(-1, channels).index_select(0, torch.from_numpy(pixel.ravel()).to(raw.device))
    return chosen.view(count, *size, channels)


def resize(x: Tensor, crops: Crops, size: Size) -> Tensor:
    """(B, 3, H, W) → the crops, each stretched to (B, 3, h, w); bilinear, from pixels inside the box only.

    Without a filter against aliasing, which crops of images stored near the size of the network hardly need.
    """
    down = crops.top[:, None] + _positions(size[0], crops.height)
    across = crops.left[:, None] + _read(_positions(size[1], crops.width), crops)
    down, across = ((2 * pixel + 1) / side - 1 for pixel, side in zip((down, across), x.shape[2:], strict=True))
    return _sample(x, _floats(down, x)[:, :, None], _floats(across, x)[:, None, :], padding="border")


def rotate(x: Tensor, degrees: np.ndarray) -> Tensor:
    """Counter-clockwise around the centre, (B,) degrees; bilinear, black where there was no image."""
    angle = np.radians(degrees)[:, None, None]
    cos, sin = _floats(np.cos(angle), x), _floats(np.sin(angle), x)
    height, width = x.shape[2:]
    dy, dx = (torch.arange(1.0 - side, side, 2, device=x.device) for side in (height, width))  # in half pixels
    dy = dy[:, None]
    return _sample(x, (cos * dy + sin * dx) / height, (cos * dx - sin * dy) / width, padding="zeros")


def _positions(count: int, extent: np.ndarray) -> np.ndarray:
    """(B, count) where the centres of `count` equal parts lie in `extent` pixels, kept off the half pixels outside."""
    centres = (np.arange(count) + 0.5) * (extent / count)[:, None] - 0.5
    return np.clip(centres, 0, extent[:, None] - 1)


def _read(positions: np.ndarray, crops: Crops) -> np.ndarray:
    """(…, w) positions from left to right, or from right to left where the box is flipped."""
    return np.where(crops.flipped[:, None], positions[..., ::-1], positions)


def _floats(values: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(values.astype(np.float32)).to(like.device)


def _sample(x: Tensor, down: Tensor, across: Tensor, padding: str) -> Tensor:
    """`x` at positions that broadcast to (B, h, w); the outer edges of the image are at -1 and 1.

    Positions are computed one by one and not by a matrix product: autocast would round it, and its sums may depend on
    the batch.
    """
    grid = torch.stack(torch.broadcast_tensors(across, down), dim=-1)
    return F.grid_sample(x, grid, padding_mode=padding, align_corners=False)
