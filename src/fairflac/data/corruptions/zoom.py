"""Zooming into the middle of an image, as a matrix along one axis."""

import math

import numpy as np

from fairflac.data.corruptions.pixels import SIZE, Floats


def zoom_matrix(factor: float) -> Floats:
    """(32, 32) `z` with z @ image @ z.T the middle of the image, enlarged linearly by `factor` >= 1.

    The crop is the least whole number of pixels that fills the image; its first and last pixel stay the first and
    last of the enlargement, of which surplus pixels are then cut.
    """
    crop = math.ceil(SIZE / factor)
    first = (SIZE - crop) // 2
    length = round(crop * factor)
    position = np.arange(length) * (crop - 1) / (length - 1)
    lower = np.minimum(position.astype(int), crop - 2)
    enlarge = np.zeros((length, SIZE))
    enlarge[np.arange(length), first + lower] = 1 - (position - lower)
    enlarge[np.arange(length), first + lower + 1] = position - lower
    surplus = (length - SIZE) // 2
    return enlarge[surplus : surplus + SIZE]
