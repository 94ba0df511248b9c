"""A classifier as it is used: pixels in, logits out, whatever it was made with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairflac.data.base import BiasedDataset
from fairflac.data.own.listing import MEAN, STD
from fairflac.data.pixels.decode import Fit
from fairflac.data.pixels.resample import centre_offset
from fairflac.data.tensors import Pixels
from fairflac.errors import UserError
from fairflac.metrics.predictions import Predictions
from fairflac.system.hardware import full_precision
from fairflac.system.progress import meter
from fairflac.types import TaskSpec

BATCH = 128


@dataclass(frozen=True)
class Trained:
    """Everything that prediction needs; normalisation is part of `logits`."""

    source: str  # where it comes from, for messages
    logits: Callable[[np.ndarray], np.ndarray]  # (B, H, W, 3) uint8 RGB of `image_size` → (B, C) float32
    image_size: tuple[int, int]  # that the network sees
    decoded_size: tuple[int, int]  # that files are decoded to, before their middle is cut out
    classes: tuple[str, ...] | None  # None: the file does not say
    fit: Fit = "cover"  # how files are brought to `decoded_size`

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """(B, H, W, 3) uint8 of `decoded_size` (or any that is large enough) → (B, C) logits."""
        height, width = self.image_size
        top, left = centre_offset((images.shape[1], images.shape[2]), self.image_size)
        return self.logits(np.ascontiguousarray(images[:, top : top + height, left : left + width]))


def predictions(model: Trained, data: BiasedDataset, *, silent: bool = False) -> Predictions:
    """The table that every metric is computed from. The features of such a model are its logits."""
    parts = []
    with meter("predicting", len(data), silent=silent) as bar:
        for start in range(0, len(data), BATCH):
            parts.append(model(np.asarray(data.images[start : start + BATCH])))
            bar.advance(len(parts[-1]))
    logits = np.concatenate(parts)
    attributes = data.task.attributes
    return Predictions(
        index=np.arange(len(data)),
        y=data.y,
        prediction=logits.argmax(1),
        score=probabilities(logits).max(1),
        features=logits,
        bias=data.bias,
        aligned={name: data.bias[name] == np.array(attributes[name].aligned)[data.y] for name in data.bias},
        min_cell={name: attributes[name].min_cell for name in data.bias},
        repeats={name: repeats for name in data.bias if (repeats := attributes[name].repeats)},
        images=data.identity,
    )


def probabilities(logits: np.ndarray) -> np.ndarray:
    """(B, C) logits → (B, C) shares of 1."""
    raised = np.exp(logits - logits.max(1, keepdims=True))
    shares: np.ndarray = raised / raised.sum(1, keepdims=True)
    return shares


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
