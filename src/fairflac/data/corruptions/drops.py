"""Spatter: drops of water (severity 1-3) or of mud (4-5) on the lens."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fairflac.data.corruptions.blur import smooth
from fairflac.data.corruptions.pixels import Floats, Images, quantised, unit

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
