"""CIFAR-C's nineteen corruptions (Hendrycks and Dietterich, ICLR 2019), each for many images at once.

A corruption takes images (N, 32, 32, 3) uint8, a severity from 1 to 5 and a random generator, and returns new images.
The constants are CIFAR-C's, which are milder than ImageNet-C's.

Deviations: CIFAR-C draws from numpy's old generator image by image, so ours are other draws of the same corruptions.
ImageMagick's motion blur and OpenCV's filters are written anew from their definitions. For water drops (spatter at
severity 1-3) scikit-image finds the rims, which measures slopes as lengths, not as sums, and sees none on the border.
"""

import io
import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage, sparse

SIZE = 32  # of CIFAR-10's images; CIFAR-C's constants hold for it only

Images = NDArray[np.uint8]  # (N, 32, 32, 3)
Floats = NDArray[np.float64]
Corruption = Callable[[Images, int, np.random.Generator], Images]


def unit(images: Images) -> Floats:
    return images / 255.0


def quantised(x: Floats) -> Images:
    """Back to bytes. CIFAR-C cuts fractions off, it does not round."""
    return (np.clip(x, 0, 1) * 255).astype(np.uint8)


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


CORRUPTIONS: dict[str, Corruption] = {
    "gaussian-noise": gaussian_noise,
    "shot-noise": shot_noise,
    "impulse-noise": impulse_noise,
    "speckle-noise": speckle_noise,
    "gaussian-blur": gaussian_blur,
    "defocus-blur": defocus_blur,
    "glass-blur": glass_blur,
    "motion-blur": motion_blur,
    "zoom-blur": zoom_blur,
    "snow": snow,
    "frost": frost,
    "fog": fog,
    "brightness": brightness,
    "contrast": contrast,
    "spatter": spatter,
    "elastic": elastic,
    "jpeg": jpeg,
    "pixelate": pixelate,
    "saturate": saturate,
    "original": lambda images, severity, rng: images.copy(),  # no corruption at all is one of type 1's ten
}

__all__ = ["CORRUPTIONS", "Corruption", "frost"]
