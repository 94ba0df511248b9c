"""Augmentations of whole batches, (B, 3, H, W) in [0, 1], drawn from torch's global generator."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

Augmentation = Literal["none", "crop-flip", "rotate-jitter"]


def make_augmentation(name: Augmentation, size: tuple[int, int]) -> Callable[[Tensor], Tensor] | None:
    """
    - `crop-flip`: random resized crop (8 % to all of the area) and horizontal flip, the paper's choice for photographs
    - `rotate-jitter`: rotation up to 20 degrees and colour jitter 0.3 with probability 0.8, its Con.* on digits
    """
    if name == "none":
        return None
    import kornia.augmentation as K  # half a second to import, and most runs on digits do without

    if name == "crop-flip":
        return nn.Sequential(K.RandomResizedCrop(size), K.RandomHorizontalFlip())
    return nn.Sequential(K.RandomRotation(20.0, p=1.0), K.ColorJitter(0.3, 0.3, 0.3, 0.3, p=0.8))
