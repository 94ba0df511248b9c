"""Weather: fog and snow. Frost and spatter have their own files."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fairflac.data.sets.corruptions.blur import move, smooth, zoom_matrix
from fairflac.data.sets.corruptions.pixels import SIZE, Floats, Images, quantised, unit

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


WATER = np.array([175, 238, 238]) / 255
MUD = np.array([63, 42, 20]) / 255
EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])  # light from the lower right


def spatter(images: Images, severity: int, rng: np.random.Generator) -> Images:
    mean, spread, sigma, level, strength, muddy = (
        (0.62, 0.1, 0.7, 0.7, 0.5, False),
        (0.65, 0.1, 0.8, 0.7, 0.5, False),
        (0.65, 0.3, 1, 0.69, 0.5, False),
        (0.65, 0.1, 0.7, 0.69, 0.6, True),
        (0.65, 0.1, 0.5, 0.68, 0.6, True),
    )[severity - 1]
    liquid = smooth(rng.normal(mean, spread, images.shape[:3]), sigma)
    x = unit(images)
    if muddy:
        cover = smooth((liquid > level).astype(float), strength)  # (N, 32, 32)
        cover = np.where(cover < 0.8, 0, cover)[..., None]
        return quantised(x * (1 - cover) + MUD * cover)
    drops = quantised(np.where(liquid < level, 0, liquid))
    shine = np.stack([water(layer) for layer in drops])
    return quantised(x + strength * shine[..., None] * WATER)


def water(drops: NDArray[np.uint8]) -> Floats:
    """(32, 32) light on water, 0 to 1: an embossed map of the distance to the rims of the drops."""
    from skimage.feature import canny  # scikit-image is slow to import, and only severities 1-3 come here

    # OpenCV's thresholds 50 and 150 are for Sobel sums, which are four times scikit-image's.
    rims = canny(drops.astype(float), sigma=0, low_threshold=50 / 4, high_threshold=150 / 4, mode="nearest")
    if not rims.any():
        return np.zeros(drops.shape)  # no drop at all
    distance = np.minimum(ndimage.distance_transform_edt(~rims), 20)
    relief = equalised(ndimage.uniform_filter(distance, 3, mode="mirror").astype(np.uint8))
    embossed = np.clip(ndimage.correlate(relief.astype(float), EMBOSS, mode="mirror"), 0, 255)
    light = drops * np.rint(ndimage.uniform_filter(embossed, 3, mode="mirror"))
    shine: Floats = light / max(light.max(), 1)
    return shine


def equalised(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Values stretched so that all levels are about equally frequent; the least becomes 0."""
    counts = np.bincount(values.ravel(), minlength=256)
    least = counts[values.min()]
    if least == values.size:
        return values
    table = (np.cumsum(counts) - least) * 255 / (values.size - least)
    stretched: NDArray[np.uint8] = np.clip(np.rint(table), 0, 255).astype(np.uint8)[values]
    return stretched
