"""Weather: fog and snow. Frost and spatter have their own files."""

import numpy as np

from fairflac.data.corruptions.motion import move
from fairflac.data.corruptions.pixels import SIZE, Floats, Images, quantised, unit
from fairflac.data.corruptions.zoom import zoom_matrix

GREY = np.array([0.299, 0.587, 0.114])  # luma of R, G, B


def fog(images: Images, severity: int, rng: np.random.Generator) -> Images:
    amount, decay = ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))[severity - 1]
    x = unit(images)
    brightest = x.max(axis=(1, 2, 3), keepdims=True)
    hazy = x + amount * plasma(len(x), decay, rng)[..., None]
    return quantised(hazy * brightest / (brightest + amount))


def plasma(number: int, decay: float, rng: np.random.Generator) -> Floats:
    """(N, 32, 32) random clouds from 0 to 1 by the diamond-square algorithm on a torus.

    Each round sets the points half-way between those already set: the mean of four neighbours and a random part,
    which is `decay` squared times smaller in every round.
    """
    heights = np.zeros((number, SIZE, SIZE))
    step, wobble = SIZE, 100.0

    def mean_of(*neighbours: Floats) -> Floats:
        total = np.sum(neighbours, axis=0)
        mean: Floats = total / 4 + wobble * rng.uniform(-wobble, wobble, total.shape)
        return mean

    while step >= 2:
        half = step // 2
        corners = heights[:, ::step, ::step]
        right, below = np.roll(corners, -1, axis=2), np.roll(corners, -1, axis=1)
        heights[:, half::step, half::step] = mean_of(corners, right, below, np.roll(below, -1, axis=2))
        centres = heights[:, half::step, half::step]
        heights[:, ::step, half::step] = mean_of(corners, right, centres, np.roll(centres, 1, axis=1))
        heights[:, half::step, ::step] = mean_of(corners, below, centres, np.roll(centres, 1, axis=2))
        step, wobble = half, wobble / decay
    heights -= heights.min(axis=(1, 2), keepdims=True)
    heights /= heights.max(axis=(1, 2), keepdims=True)
    return heights


def snow(images: Images, severity: int, rng: np.random.Generator) -> Images:
    """Flakes are noise above a level, enlarged and blown downwards; they are laid over a paler image, twice."""
    mean, spread, zoom, level, radius, sigma, clear = (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    )[severity - 1]
    enlarge = zoom_matrix(zoom)
    flakes = enlarge @ rng.normal(mean, spread, images.shape[:3]) @ enlarge.T
    flakes = quantised(np.where(flakes < level, 0, flakes))[..., None].astype(float)
    flakes = np.rint(move(flakes, int(radius), sigma, rng.uniform(-135, -45, len(images)))) / 255
    x = unit(images)
    pale = np.maximum(x, (x @ GREY)[..., None] * 1.5 + 0.5)
    return quantised(clear * x + (1 - clear) * pale + flakes + flakes[:, ::-1, ::-1])
