"""Noise: every pixel and channel for itself."""

import numpy as np

from fairflac.data.sets.corruptions.pixels import Images, quantised, unit


def gaussian_noise(images: Images, severity: int, rng: np.random.Generator) -> Images:
    scale = (0.04, 0.06, 0.08, 0.09, 0.10)[severity - 1]
    return quantised(unit(images) + scale * rng.standard_normal(images.shape))


def shot_noise(images: Images, severity: int, rng: np.random.Generator) -> Images:
    """Photons are counted: the fewer a white pixel has, the more grain."""
    photons = (500, 250, 100, 75, 50)[severity - 1]
    return quantised(rng.poisson(unit(images) * photons) / photons)


def impulse_noise(images: Images, severity: int, rng: np.random.Generator) -> Images:
    """A share of the values becomes 0 or 255, either with the same probability."""
    share = (0.01, 0.02, 0.03, 0.05, 0.07)[severity - 1]
    drawn = rng.random(images.shape)
    pepper, salt = drawn < share / 2, (share / 2 <= drawn) & (drawn < share)
    return np.where(pepper, np.uint8(0), np.where(salt, np.uint8(255), images))


def speckle_noise(images: Images, severity: int, rng: np.random.Generator) -> Images:
    """As Gaussian noise, but in proportion to the value."""
    scale = (0.06, 0.1, 0.12, 0.16, 0.2)[severity - 1]
    return quantised(unit(images) * (1 + scale * rng.standard_normal(images.shape)))
