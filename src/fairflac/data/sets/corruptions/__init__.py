"""CIFAR-C's nineteen corruptions (Hendrycks and Dietterich, ICLR 2019), each for many images at once.

A corruption takes images (N, 32, 32, 3) uint8, a severity from 1 to 5 and a random generator, and returns new images.
The constants are CIFAR-C's, which are milder than ImageNet-C's.

Deviations: CIFAR-C draws from numpy's old generator image by image, so ours are other draws of the same corruptions.
ImageMagick's motion blur and OpenCV's filters are written anew from their definitions. For water drops (spatter at
severity 1-3) scikit-image finds the rims, which measures slopes as lengths, not as sums, and sees none on the border.
"""

from fairflac.data.sets.corruptions.blur import defocus_blur, gaussian_blur, glass_blur, motion_blur, zoom_blur
from fairflac.data.sets.corruptions.digital import brightness, contrast, elastic, jpeg, pixelate, saturate
from fairflac.data.sets.corruptions.noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from fairflac.data.sets.corruptions.pixels import Corruption
from fairflac.data.sets.corruptions.weather import fog, frost, snow, spatter

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
