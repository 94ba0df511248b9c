"""Augmentations by name; every random number in them is a function of (seed, epoch, sample, view)."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.data.pixels.resample import AREA_NUMBERS, Crops, Size, cut, resize, rotate

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio


class Purpose(IntEnum):
    """What a number is drawn for. A new purpose goes to the end: renumbering would change the images of every run."""

    CROP = 0
    FLIP = 1
    ROTATION = 2
    JITTER = 3
    GREY = 4
    MIX = 5


@dataclass(frozen=True)
class RandomNumbers:
    """The random numbers of one view of some samples."""

    key: np.ndarray  # (B,) uint64

    @classmethod
    def at(cls, *, seed: int, epoch: int, view: int, index: Tensor) -> Self:
        key = np.zeros(1, dtype=np.uint64)
        for part in (seed, epoch, view):
            key = mix(key ^ np.uint64(part))
        return cls(mix(key ^ index.cpu().numpy().astype(np.uint64)))

    def uniform(self, purpose: Purpose, count: int) -> np.ndarray:
        """(count, B) float64 in [0, 1); the first numbers of a purpose do not depend on how many are asked for."""
        number = np.arange(count, dtype=np.uint64)[:, None]
        words = mix(mix(self.key ^ np.uint64(purpose)) ^ number)
        return (words >> np.uint64(11)) * 2.0**-53  # as many bits as a double holds


def mix(x: np.ndarray) -> np.ndarray:
    """One step of SplitMix64 from state `x`: a bijection of 64 bits in which every input bit moves every output bit.

    On arrays only: there numpy's unsigned integers wrap without a warning.
    """
    x = x + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


LUMA = (0.299, 0.587, 0.114)  # ITU-R BT.601, as PIL converts to grey
SMALL = 1e-6  # a chroma that nobody sees; grey has none, and any hue will do for it


def grey(x: Tensor) -> Tensor:
    """(B, 1, H, W)"""
    red, green, blue = x[:, 0:1], x[:, 1:2], x[:, 2:3]
    return LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue


def brightness(x: Tensor, factor: Tensor) -> Tensor:
    """0 is black, 1 the image."""
    return (x * _per_image(factor)).clamp_(0, 1)


def contrast(x: Tensor, factor: Tensor) -> Tensor:
    """0 is the mean grey of the image everywhere, 1 the image.

    The mean is that of whole grey levels, as in PIL: a sum of integers does not depend on its order, and so not on the
    batch.
    """
    levels = (255 * grey(x)).round_().int().sum(dim=(2, 3), keepdim=True)
    mean = levels / (255 * x.shape[2] * x.shape[3])
    return _away_from(mean, x, factor)


def saturation(x: Tensor, factor: Tensor) -> Tensor:
    """0 is grey, 1 the image."""
    return _away_from(grey(x), x, factor)


def hue(x: Tensor, turn: Tensor) -> Tensor:
    """Every colour moved around the circle of hues by a share of it; lightest and darkest channel keep their values."""
    red, green, blue = x.unbind(1)
    high, low = torch.maximum(torch.maximum(red, green), blue), torch.minimum(torch.minimum(red, green), blue)
    chroma = high - low
    # The hue in sixths of the circle, red at 0, green at 2 and blue at 4, times the chroma.
    sixths = torch.where(high == green, blue - red + 2 * chroma, red - green + 4 * chroma)
    sixths = torch.where(high == red, green - blue, sixths)
    sixths.div_(chroma.clamp(min=SMALL)).div_(6).add_(turn.view(-1, 1, 1))
    sixths.sub_(sixths.floor()).mul_(6)  # in [0, 6]
    # A channel is highest up to one sixth from its own hue, lowest from two sixths on, linear between.
    losses = 2 - (sixths - 3).abs_(), (sixths - 2).abs_().sub_(1), (sixths - 4).abs_().sub_(1)
    return torch.stack([high - loss.clamp_(0, 1).mul_(chroma) for loss in losses], dim=1)


def _away_from(base: Tensor, x: Tensor, factor: Tensor) -> Tensor:
    return (x - base).mul_(_per_image(factor)).add_(base).clamp_(0, 1)


def _per_image(factor: Tensor) -> Tensor:
    return factor.view(-1, 1, 1, 1)


Augmentation = Literal["none", "crop-flip", "pad-crop-flip", "rotate-jitter", "photo"]


@dataclass(frozen=True)
class Jitter:
    """How far colours move: the first three by a factor of 1 ± range, the hue by ± a share of its circle."""

    brightness: float
    contrast: float
    saturation: float
    hue: float
    probability: float


@dataclass(frozen=True)
class Preset:
    """What is done to an image, in this order. Without `scale` and `padding` the middle of the image is taken."""

    scale: tuple[float, float] | None = None  # share of the area that a random resized crop takes
    padding: int | None = None  # black pixels around the image before a random crop
    flip: bool = False  # from left to right, every other time
    degrees: float = 0.0  # of rotation, to either side
    jitter: Jitter | None = None
    grey: float = 0.0  # probability of losing all colour


PRESETS: dict[Augmentation, Preset] = {
    # The paper's loader of UTKFace and of 9-class ImageNet.
    "crop-flip": Preset(scale=(0.08, 1.0), flip=True),
    # What is usual on CIFAR-10.
    "pad-crop-flip": Preset(padding=4, flip=True),
    # The paper's Con.* on digits, where the hue is the bias.
    "rotate-jitter": Preset(degrees=20.0, jitter=Jitter(0.3, 0.3, 0.3, 0.3, probability=0.8)),
    # Of contrastive methods on photographs.
    "photo": Preset(scale=(0.2, 1.0), flip=True, jitter=Jitter(0.4, 0.4, 0.4, 0.1, probability=0.8), grey=0.2),
}


class Augment:
    """Stored bytes → images of one size, differently in every epoch and view and equally wherever they are made."""

    def __init__(self, preset: Preset, size: Size, seed: int) -> None:
        self.preset, self.size, self.seed = preset, size, seed

    def __call__(self, raw: Tensor, index: Tensor, *, epoch: int, view: int) -> Tensor:
        """(B, H, W, 3) bytes of the samples `index` → (B, 3, h, w) floats in [0, 1]."""
        numbers = RandomNumbers.at(seed=self.seed, epoch=epoch, view=view, index=index)
        x = self._frame(raw, numbers)
        if self.preset.degrees:
            (u,) = numbers.uniform(Purpose.ROTATION, 1)
            x = rotate(x, self.preset.degrees * (2 * u - 1))
        if self.preset.jitter is not None:
            x = jittered(x, self.preset.jitter, numbers.uniform(Purpose.JITTER, 5))
        if self.preset.grey:
            (u,) = numbers.uniform(Purpose.GREY, 1)
            chosen = _where(u < self.preset.grey, x)
            x = x.index_copy(0, chosen, grey(x[chosen]).expand(-1, 3, -1, -1))
        return x

    def _frame(self, raw: Tensor, numbers: RandomNumbers) -> Tensor:
        """The crop, flipped or not."""
        preset = self.preset
        if preset.padding:
            raw = F.pad(raw, (0, 0, *(preset.padding,) * 4))
        stored = (raw.shape[1], raw.shape[2])
        if preset.scale is not None:
            crops = Crops.of_random_area(numbers.uniform(Purpose.CROP, AREA_NUMBERS), stored, preset.scale)
        elif preset.padding is not None:
            crops = Crops.shifted(numbers.uniform(Purpose.CROP, 2), stored, self.size)
        else:
            crops = Crops.centre(len(raw), stored, self.size)
        if preset.flip:
            crops = crops.flip(numbers.uniform(Purpose.FLIP, 1)[0])
        if preset.scale is None:
            return unit_floats(cut(raw, crops, self.size))
        return resize(raw.permute(0, 3, 1, 2).float(), crops, self.size).div_(255)


def make_augmentation(name: Augmentation, size: Size, seed: int) -> Augment | None:
    return None if name == "none" else Augment(PRESETS[name], size, seed)


def unit_floats(raw: Tensor) -> Tensor:
    """(B, H, W, 3) bytes → (B, 3, H, W) floats in [0, 1]; the permuted view is channels-last already."""
    return raw.permute(0, 3, 1, 2).float().div_(255)


def jittered(x: Tensor, ranges: Jitter, uniform: np.ndarray) -> Tensor:
    """Brightness, contrast, saturation and hue in this order, by (5, B) uniform numbers, of which the last chooses.

    The order is often drawn as well; drawn per image it would cost four passes instead of one.
    """
    chosen = _where(uniform[4] < ranges.probability, x)
    offset = torch.from_numpy((2 * uniform[:4] - 1).astype(np.float32)).to(x.device)[:, chosen]
    part = brightness(x[chosen], 1 + ranges.brightness * offset[0])
    part = contrast(part, 1 + ranges.contrast * offset[1])
    part = saturation(part, 1 + ranges.saturation * offset[2])
    part = hue(part, ranges.hue * offset[3])
    return x.index_copy(0, chosen, part)


def _where(chosen: np.ndarray, x: Tensor) -> Tensor:
    """(M,) positions in the batch."""
    return torch.from_numpy(np.flatnonzero(chosen)).to(x.device)
