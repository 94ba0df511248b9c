"""Digital: contrast, brightness, saturation, JPEG and coarse pixels."""

import io
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from fairflac.data.sets.corruptions.pixels import SIZE, Floats, Images, quantised, unit


def contrast(images: Images, severity: int, rng: np.random.Generator) -> Images:
    """Towards the mean colour of the image."""
    kept = (0.75, 0.5, 0.4, 0.3, 0.15)[severity - 1]
    x = unit(images)
    means = x.mean(axis=(1, 2), keepdims=True)
    return quantised((x - means) * kept + means)


def brightness(images: Images, severity: int, rng: np.random.Generator) -> Images:
    more = (0.05, 0.1, 0.15, 0.2, 0.3)[severity - 1]
    return _in_hsv(images, 2, lambda value: value + more)


def saturate(images: Images, severity: int, rng: np.random.Generator) -> Images:
    """Severities 1 and 2 take colour away, 3 to 5 add to it."""
    factor, more = ((0.3, 0.0), (0.1, 0.0), (1.5, 0.0), (2.0, 0.1), (2.5, 0.2))[severity - 1]
    return _in_hsv(images, 1, lambda saturation: saturation * factor + more)


def _in_hsv(images: Images, channel: int, change: Callable[[Floats], Floats]) -> Images:
    from skimage.color import hsv2rgb, rgb2hsv  # slow to import

    hsv = rgb2hsv(unit(images))
    hsv[..., channel] = np.clip(change(hsv[..., channel]), 0, 1)
    return quantised(hsv2rgb(hsv))


def jpeg(images: Images, severity: int, rng: np.random.Generator) -> Images:
    quality = (80, 65, 58, 50, 40)[severity - 1]
    decoded = np.empty_like(images)
    for number, image in enumerate(images):
        stream = io.BytesIO()
        Image.fromarray(image).save(stream, "JPEG", quality=quality)
        decoded[number] = np.asarray(Image.open(stream))
    return decoded


def pixelate(images: Images, severity: int, rng: np.random.Generator) -> Images:
    side = int(SIZE * (0.95, 0.9, 0.85, 0.75, 0.65)[severity - 1])
    box = Image.Resampling.BOX
    coarse = (Image.fromarray(image).resize((side, side), box).resize((SIZE, SIZE), box) for image in images)
    return np.stack([np.asarray(image) for image in coarse])


# x and y of the three points whose moves define the affine map: a third of the image from its middle.
ANCHORS = np.array([[26.0, 26.0], [26.0, 6.0], [6.0, 6.0]])


def elastic(images: Images, severity: int, rng: np.random.Generator) -> Images:
    shift, sigma, stretch = (
        SIZE * np.array([(0, 0, 0.08), (0.05, 0.2, 0.07), (0.08, 0.06, 0.06), (0.1, 0.04, 0.05), (0.1, 0.03, 0.03)])
    )[severity - 1]
    number = len(images)
    moved = ANCHORS + rng.uniform(-stretch, stretch, (number, 3, 2))
    # Where the points went → where they were: the map that a pixel of the result is looked up with.
    lookup = np.linalg.solve(np.concatenate([moved, np.ones((number, 3, 1))], axis=2), np.tile(ANCHORS, (number, 1, 1)))
    rows, columns = np.mgrid[:SIZE, :SIZE].astype(float)
    places = np.stack([columns, rows, np.ones_like(rows)], axis=-1).reshape(-1, 3) @ lookup  # (N, 1024, 2): x, y
    x, y = places.reshape(number, SIZE, SIZE, 2).transpose(3, 0, 1, 2)
    stretched = sample(unit(images), y, x, repeat_edge=False)
    noise = rng.uniform(-1, 1, (2, number, SIZE, SIZE))
    right, down = shift * ndimage.gaussian_filter(noise, (0, 0, sigma, sigma), mode="reflect", truncate=3.0)
    return quantised(sample(stretched, rows + down, columns + right, repeat_edge=True))


def sample(x: Floats, rows: Floats, columns: Floats, *, repeat_edge: bool) -> Floats:
    """(N, 32, 32, C) looked up at fractional places (N, 32, 32), linearly; outside, the image is mirrored."""
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    down, right = (rows - top)[..., None], (columns - left)[..., None]
    samples = np.arange(len(x))[:, None, None]

    def at(row: NDArray[np.int64], column: NDArray[np.int64]) -> Floats:
        return x[samples, mirrored(row, repeat_edge), mirrored(column, repeat_edge)]

    upper = at(top, left) * (1 - right) + at(top, left + 1) * right
    lower = at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right
    between: Floats = upper * (1 - down) + lower * down
    return between


def mirrored(place: NDArray[np.int64], repeat_edge: bool) -> NDArray[np.int64]:
    """Any place → one inside: … 1 0 | 0 1 … with the edge repeated, … 2 1 | 0 1 … without."""
    if repeat_edge:
        folded = place % (2 * SIZE)
        return np.where(folded < SIZE, folded, 2 * SIZE - 1 - folded)
    folded = place % (2 * SIZE - 2)
    return np.where(folded < SIZE, folded, 2 * SIZE - 2 - folded)
