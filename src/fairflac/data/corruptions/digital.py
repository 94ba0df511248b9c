"""Digital: contrast, brightness, saturation, JPEG and coarse pixels."""

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from fairflac.data.corruptions.pixels import SIZE, Floats, Images, quantised, unit


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
