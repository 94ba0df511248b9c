"""Frost: a piece of a photograph of ice crystals laid over the image."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from fairflac.data.corruptions.blur import smooth
from fairflac.data.corruptions.pixels import SIZE, Images


def frost(images: Images, severity: int, rng: np.random.Generator, textures: Sequence[Images] | None = None) -> Images:
    """`textures` are (H, W, 3), larger than an image; without any, generated ones stand in for the photographs."""
    clear, icy = ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))[severity - 1]
    textures = generated_textures() if textures is None else textures
    which = rng.integers(len(textures), size=len(images))
    pieces = np.empty_like(images)
    for number, texture in enumerate(textures):
        members = np.flatnonzero(which == number)
        windows = np.lib.stride_tricks.sliding_window_view(texture, (SIZE, SIZE), axis=(0, 1))
        top = rng.integers(texture.shape[0] - SIZE, size=len(members))
        left = rng.integers(texture.shape[1] - SIZE, size=len(members))
        pieces[members] = windows[top, left].transpose(0, 2, 3, 1)  # the window's axes come last
    return np.clip(clear * images + icy * pieces.astype(float), 0, 255).astype(np.uint8)


@cache
def generated_textures() -> tuple[Images, ...]:
    """Five textures (96, 96, 3), always the same: bright ridges where smooth noise changes sign, on a pale blue.

    Mean colour and contrast are those of the photographs.
    """
    rng = np.random.default_rng(0)
    ridges = np.zeros((5, 96, 96))
    for sigma in (1.0, 2.0, 4.0):
        noise = smooth(rng.standard_normal(ridges.shape), sigma)
        ridges += sigma * np.exp(-np.abs(noise) / noise.std())
    contrast = 30 * (ridges - ridges.mean()) / ridges.std()
    return tuple(np.clip(contrast[..., None] + [146, 160, 173], 0, 255).astype(np.uint8))
