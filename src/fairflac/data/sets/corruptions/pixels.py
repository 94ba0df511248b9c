"""What all corruptions share: images as numbers from 0 to 1, and back."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

SIZE = 32  # of CIFAR-10's images; CIFAR-C's constants hold for it only

Images = NDArray[np.uint8]  # (N, 32, 32, 3)
Floats = NDArray[np.float64]
Corruption = Callable[[Images, int, np.random.Generator], Images]


def unit(images: Images) -> Floats:
    return images / 255.0


def quantised(x: Floats) -> Images:
    """Back to bytes. CIFAR-C cuts fractions off, it does not round."""
    return (np.clip(x, 0, 1) * 255).astype(np.uint8)
