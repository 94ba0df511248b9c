"""Blur: Gaussian, out of focus, through rough glass, while zooming. Motion blur has its own file."""

import math
from functools import cache

import numpy as np
from scipy import ndimage, sparse

from fairflac.data.sets.corruptions.pixels import SIZE, Floats, Images, quantised, unit


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


def move(x: Floats, radius: int, sigma: float, degrees: Floats) -> Floats:
    """Blur (N, 32, 32, C), image n in direction `degrees[n]`; what lies outside repeats the edge."""
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    angles = np.deg2rad(degrees)[:, None]
    right = np.ceil(steps * np.cos(angles) - 0.5).astype(int)  # (N, steps)
    down = np.ceil(steps * np.sin(angles) - 0.5).astype(int)
    samples, place = np.arange(len(x))[:, None, None], np.arange(SIZE)
    moved = np.zeros_like(x)
    for step, weight in enumerate(weights):
        rows = np.clip(place + down[:, step, None], 0, SIZE - 1)
        columns = np.clip(place + right[:, step, None], 0, SIZE - 1)
        moved += weight * x[samples, rows[:, :, None], columns[:, None, :]]
    return moved


def motion_blur(images: Images, severity: int, rng: np.random.Generator) -> Images:
    radius, sigma = ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))[severity - 1]
    moved = move(images.astype(float), radius, sigma, rng.uniform(-45, 45, len(images)))
    return np.rint(moved).astype(np.uint8)  # ImageMagick rounds
