"""Torch modules as classifiers of pixels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairflac.data.listing import MEAN, STD
from fairflac.data.tensors import Pixels
from fairflac.errors import UserError
from fairflac.hardware import full_precision
from fairflac.types import TaskSpec


def square(size: int | None, source: str) -> tuple[int, int]:
    """As large as the user says that images are, where the file does not."""
    if size is None:
        raise UserError(f"'{source}' does not say how large its images are: give that too, for example --size 224")
    if size < 1:
        raise UserError(f"--size {size} is not a size of images: give the pixels of a side, for example --size 224")
    return size, size


def foreign_task(size: tuple[int, int]) -> TaskSpec:
    """What has to be assumed of a model that does not say: ImageNet's mean and deviation."""
    return TaskSpec(classes=(), attributes={}, image_size=size, mean=MEAN, std=STD)


def normalised(images: np.ndarray, task: TaskSpec, device: torch.device) -> Tensor:
    """(B, H, W, 3) uint8 → (B, 3, H, W) as training and evaluation make it."""
    writable = images if images.flags.writeable else images.copy()  # torch warns of others
    return Pixels(writable, task, device)(torch.arange(len(images)))[0]


def torch_logits(
    forward: Callable[[Tensor], Any], task: TaskSpec, device: torch.device
) -> Callable[[np.ndarray], np.ndarray]:
    def logits(images: np.ndarray) -> np.ndarray:
        with torch.no_grad(), full_precision(device):
            return as_array(forward(normalised(images, task, device)))

    return logits


def as_array(output: Any) -> np.ndarray:
    """The logits among what a module returns: named so, the first of several, or all there is."""
    if isinstance(output, dict):
        output = output.get("logits", output)
    found = getattr(output, "logits", output)
    if isinstance(found, tuple | list) and found:
        found = found[0]
    if not isinstance(found, Tensor):
        raise TypeError(f"it returns {type(output).__name__}, not a tensor of logits")
    array: np.ndarray = found.detach().float().cpu().numpy()
    return array
