"""Blur: Gaussian, out of focus, through rough glass, while zooming. Motion blur has its own file."""

from functools import cache

import numpy as np
from scipy import ndimage, sparse

from fairflac.data.corruptions.pixels import SIZE, Floats, Images, quantised, unit
from fairflac.data.corruptions.zoom import zoom_matrix


def smooth(x: Floats, sigma: float) -> Floats:
    """Gaussian filter of (N, H, W, …) over H and W, as scikit-image's `gaussian`: cut at 4 sigma, edges repeated."""
    axes = (0.0, sigma, sigma) + (0.0,) * (x.ndim - 3)
    filtered: Floats = ndimage.gaussian_filter(x, axes, mode="nearest", truncate=4.0)
    return filtered


def gaussian_blur(images: Images, severity: int, rng: np.random.Generator) -> Images:
    sigma = (0.4, 0.6, 0.7, 0.8, 1.0)[severity - 1]
    return quantised(smooth(unit(images), sigma))


def defocus_blur(images: Images, severity: int, rng: np.random.Generator) -> Images:
    radius, softness = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))[severity - 1]
    kernel = lens(radius, softness)[None, :, :, None]
    return quantised(ndimage.correlate(unit(images), kernel, mode="mirror"))


def lens(radius: float, softness: float) -> Floats:
    """(5, 5) weights: a disk whose rim a Gaussian of 3 x 3 softens. Up to radius 1.5 all else is zero."""
    steps = np.arange(-2, 3)
    disk = (steps[:, None] ** 2 + steps**2 <= radius**2).astype(float)
    bell = np.exp(-(np.array([-1.0, 0.0, 1.0]) ** 2) / (2 * softness**2))
    bell /= bell.sum()
    softened: Floats = ndimage.correlate(disk / disk.sum(), np.outer(bell, bell), mode="constant")
    return softened


def glass_blur(images: Images, severity: int, rng: np.random.Generator) -> Images:
    """Every pixel takes the place of itself or of a neighbour above and to the left, between two Gaussian blurs.

    CIFAR-C means to swap pixels from the bottom right to the top left, but its assignment copies, as both sides of it
    are views of one array. The neighbours are then still untouched, so that one pass is a lookup of all pixels at once.
    The two uppermost rows and leftmost columns stay.
    """
    sigma, passes = ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))[severity - 1]
    x = quantised(smooth(unit(images), sigma))
    rows, columns = np.mgrid[2:SIZE, 2:SIZE]
    samples = np.arange(len(x))[:, None, None]
    for _ in range(passes):
        up, left = rng.integers(0, 2, (2, len(x), *rows.shape))
        x[:, 2:, 2:] = x[samples, rows - up, columns - left]
    return quantised(smooth(unit(x), sigma))


def zoom_blur(images: Images, severity: int, rng: np.random.Generator) -> Images:
    blur = _zooming((1.06, 1.11, 1.16, 1.21, 1.26)[severity - 1])
    pixels = unit(images).transpose(1, 2, 0, 3).reshape(SIZE * SIZE, -1)
    blurred = (blur @ pixels).reshape(SIZE, SIZE, len(images), 3)
    return quantised(blurred.transpose(2, 0, 1, 3))


@cache
def _zooming(end: float) -> "sparse.csr_array":
    """(1024, 1024) the mean of the image and of its zooms by 1, 1.01, … up to `end`."""
    factors = np.arange(1, end, 0.01)
    zooms = sum(np.kron(zoom_matrix(factor), zoom_matrix(factor)) for factor in factors)
    return sparse.csr_array((np.eye(SIZE * SIZE) + zooms) / (len(factors) + 1))
