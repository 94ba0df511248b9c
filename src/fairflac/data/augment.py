"""Augmentations by name: every random number in them is a function of (seed, epoch, sample, view), see `Draws`."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.data import jitter
from fairflac.data.boxes import AREA_DRAWS, Boxes, Size
from fairflac.data.draws import Draws, Purpose
from fairflac.data.resample import cut, resize, rotate

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
        draws = Draws.at(seed=self.seed, epoch=epoch, view=view, index=index)
        x = self._frame(raw, draws)
        if self.preset.degrees:
            (u,) = draws.uniform(Purpose.ROTATION, 1)
            x = rotate(x, self.preset.degrees * (2 * u - 1))
        if self.preset.jitter is not None:
            x = jittered(x, self.preset.jitter, draws.uniform(Purpose.JITTER, 5))
        if self.preset.grey:
            (u,) = draws.uniform(Purpose.GREY, 1)
            chosen = _where(u < self.preset.grey, x)
            x = x.index_copy(0, chosen, jitter.grey(x[chosen]).expand(-1, 3, -1, -1))
        return x

    def _frame(self, raw: Tensor, draws: Draws) -> Tensor:
        """The crop, flipped or not."""
        preset = self.preset
        if preset.padding:
            raw = F.pad(raw, (0, 0, *(preset.padding,) * 4))
        stored = (raw.shape[1], raw.shape[2])
        if preset.scale is not None:
            boxes = Boxes.of_random_area(draws.uniform(Purpose.CROP, AREA_DRAWS), stored, preset.scale)
        elif preset.padding is not None:
            boxes = Boxes.shifted(draws.uniform(Purpose.CROP, 2), stored, self.size)
        else:
            boxes = Boxes.centre(len(raw), stored, self.size)
        if preset.flip:
            boxes = boxes.flip(draws.uniform(Purpose.FLIP, 1)[0])
        if preset.scale is None:
            return unit_floats(cut(raw, boxes, self.size))
        return resize(raw.permute(0, 3, 1, 2).float(), boxes, self.size).div_(255)


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
    part = jitter.brightness(x[chosen], 1 + ranges.brightness * offset[0])
    part = jitter.contrast(part, 1 + ranges.contrast * offset[1])
    part = jitter.saturation(part, 1 + ranges.saturation * offset[2])
    part = jitter.hue(part, ranges.hue * offset[3])
    return x.index_copy(0, chosen, part)


def _where(chosen: np.ndarray, x: Tensor) -> Tensor:
    """(M,) positions in the batch."""
    return torch.from_numpy(np.flatnonzero(chosen)).to(x.device)
