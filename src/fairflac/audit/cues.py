"""Simple cues that a classifier may lean on, and how each is exchanged between images.

They are chosen to say little about what is in a picture: a model that changes its mind with one of them looks at
something else than the thing. All take (B, H, W, 3) uint8 and return such: the first images with the cue of the second.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter

BORDER = 8  # it is as wide as one part of so many of a side
CORNER = 4
FINE = 1.0  # pixels, the deviation of the blur that takes fine detail away

Exchange = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Cue(NamedTuple):
    meaning: str
    exchange: Exchange


def colours(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Each value of a channel becomes the one of equal rank in the other image: shapes stay, colours change."""
    changed = np.empty_like(own)
    for image, channel in np.ndindex(len(own), 3):
        values, wanted = own[image, :, :, channel], np.sort(other[image, :, :, channel], axis=None)
        counts = np.bincount(values.ravel(), minlength=256)
        middle = counts.cumsum() - (counts + 1) // 2  # the rank in the middle of all pixels of that value
        changed[image, :, :, channel] = wanted[middle.clip(max=wanted.size - 1)][values]
    return changed


def brightness(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Mean and deviation of the grey values; hues stay."""
    (mean, spread), (new_mean, new_spread) = _greys(own), _greys(other)
    return _bytes((own - mean) * (new_spread / spread) + new_mean)


def border(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    height, width = own.shape[1:3]
    rows, columns = max(1, round(height / BORDER)), max(1, round(width / BORDER))
    inside = np.zeros((height, width), dtype=bool)
    inside[rows:-rows, columns:-columns] = True
    return np.where(inside[:, :, None], own, other)


def corner(own: np.ndarray, other: np.ndarray, *, bottom: bool, right: bool) -> np.ndarray:
    height, width = own.shape[1:3]
    rows, columns = height // CORNER, width // CORNER
    part = np.s_[:, height - rows :] if bottom else np.s_[:, :rows]
    part += np.s_[width - columns :,] if right else np.s_[:columns,]
    changed = own.copy()
    changed[part] = other[part]
    return changed


def detail(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """How strong the finest detail is (noise, sharpness), but not what it shows."""
    coarse, fine = _parted(own)
    return _bytes(coarse + fine * (_strength(_parted(other)[1]) / _strength(fine)))


CUES: dict[str, Cue] = {
    "colour": Cue("which colours there are, and how much of each", colours),
    "brightness": Cue("how bright the image is, and how strong its contrast", brightness),
    "border": Cue("what is in the outer eighth of each side", border),
    "fine detail": Cue("how strong it is: noise, sharpness", detail),
    **{
        f"{high} {wide} corner": Cue(
            "what is in it, to a quarter of each side",
            partial(corner, bottom=high == "bottom", right=wide == "right"),
        )
        for high in ("top", "bottom")
        for wide in ("left", "right")
    },
}


def _greys(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    grey = images.mean(3, keepdims=True, dtype=np.float32)
    return grey.mean((1, 2), keepdims=True), grey.std((1, 2), keepdims=True) + 1  # of 255; an even image has none


def _parted(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blurred, and what the blur took away."""
    coarse = gaussian_filter(images.astype(np.float32), FINE, axes=(1, 2))
    return coarse, images - coarse


def _strength(fine: np.ndarray) -> np.ndarray:
    deviation: np.ndarray = fine.std((1, 2, 3), keepdims=True) + 1  # of 255, as above
    return deviation


def _bytes(values: np.ndarray) -> np.ndarray:
    return values.round().clip(0, 255).astype(np.uint8)
