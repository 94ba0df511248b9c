"""A classifier as it is used: pixels in, logits out, whatever it was made with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from fairflac import __version__
from fairflac.config.run_config import NetConfig, RunConfig
from fairflac.data import DATASETS
from fairflac.data.base import BiasedDataset
from fairflac.data.batches import ImageInputs
from fairflac.data.own.listing import MEAN, STD
from fairflac.data.pixels.decode import Fit
from fairflac.data.pixels.resample import centre_crop
from fairflac.errors import UserError
from fairflac.metrics.predictions import Predictions
from fairflac.runs.directory import Run
from fairflac.system.hardware import full_precision
from fairflac.system.progress import meter
from fairflac.training.build import load_config
from fairflac.types import Output, TaskSpec

KEY = "fairflac"  # under which a file keeps its metadata


class ModelMetadata(BaseModel):
    """From image files to names of classes, and how the network is built."""

    model_config = ConfigDict(frozen=True)

    classes: tuple[str, ...]
    image_size: tuple[int, int]  # that the network sees
    decoded_size: tuple[int, int]  # that files are decoded to, before their middle is cut out
    fit: Fit
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    net: str
    net_options: dict[str, Any]
    method: str
    method_options: dict[str, Any]
    biased_net: NetConfig | None
    attributes: dict[str, Any]  # a method may have outputs for each value
    dataset: str
    fairflac: str  # the version

    @classmethod
    def of(cls, run: Run, task: TaskSpec) -> "ModelMetadata":
        config = load_config(run).without_weights()
        framing = DATASETS[config.dataset].framing
        return cls(
            **task.to_dict(),
            decoded_size=framing.stored(task.image_size),
            fit=framing.fit,
            net=config.net,
            net_options=config.net_options,
            method=config.method,
            method_options=config.method_options,
            biased_net=config.biased_net,
            dataset=config.dataset,
            fairflac=__version__,
        )

    @classmethod
    def read(cls, text: str | bytes, source: object) -> "ModelMetadata":
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise UserError(f"what '{source}' says of itself is not of this version: export it again") from error

    @property
    def task(self) -> TaskSpec:
        return TaskSpec.from_dict(self.model_dump())

    @property
    def config(self) -> RunConfig:
        """As much of it as building the method takes."""
        shared = ("dataset", "method", "net", "net_options", "method_options", "biased_net")
        return RunConfig(**{name: getattr(self, name) for name in shared})


BATCH = 128
LARGEST_SIDE = 4096  # pixels that a network can be asked to see


@dataclass(frozen=True)
class Classifier:
    """Everything that prediction needs; normalisation is part of `logits`."""

    source: str  # where it comes from, for messages
    logits: Callable[[np.ndarray], np.ndarray]  # (B, H, W, 3) uint8 RGB of `image_size` → (B, C) float32
    image_size: tuple[int, int]  # that the network sees
    decoded_size: tuple[int, int]  # that files are decoded to, before their middle is cut out
    classes: tuple[str, ...] | None  # None: the file does not say
    fit: Fit = "cover"  # how files are brought to `decoded_size`
    # As `logits`, → (B, D) the penultimate representation; None: it shows nothing but its answers.
    features: Callable[[np.ndarray], np.ndarray] | None = None

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """(B, H, W, 3) uint8 of `decoded_size` (or any that is large enough) → (B, C) logits."""
        return self.logits(np.ascontiguousarray(centre_crop(images, self.image_size)))


def predictions(model: Classifier, data: BiasedDataset, *, silent: bool = False) -> Predictions:
    """The table that every metric is computed from. The features of such a model are its logits."""
    parts = []
    with meter("predicting", len(data), silent=silent) as bar:
        for start in range(0, len(data), BATCH):
            parts.append(model(np.asarray(data.images[start : start + BATCH])))
            bar.advance(len(parts[-1]))
    logits = np.concatenate(parts)
    return data.predictions(logits.argmax(1), probabilities(logits).max(1), logits)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """(B, C) logits → (B, C) shares of 1."""
    raised = np.exp(logits - logits.max(1, keepdims=True))
    shares: np.ndarray = raised / raised.sum(1, keepdims=True)
    return shares


def square(size: int | None, source: str) -> tuple[int, int]:
    """As large as the user says that images are, where the file does not."""
    if size is None:
        raise UserError(f"'{source}' does not say how large its images are: give size too, for example 224")
    if not 1 <= size <= LARGEST_SIDE:
        raise UserError(
            f"size {size} is not a size of images: give the pixels of a side, up to {LARGEST_SIDE}, for example 224"
        )
    return size, size


def foreign_task(size: tuple[int, int]) -> TaskSpec:
    """What has to be assumed of a model that does not say: ImageNet's mean and deviation."""
    return TaskSpec(classes=(), attributes={}, image_size=size, mean=MEAN, std=STD)


def normalised(images: np.ndarray, task: TaskSpec, device: torch.device) -> Tensor:
    """(B, H, W, 3) uint8 → (B, 3, H, W) as training and evaluation make it."""
    writable = images if images.flags.writeable else images.copy()  # torch warns of others
    return ImageInputs(writable, task, device)(torch.arange(len(images)))[0]


def torch_logits(
    forward: Callable[[Tensor], Any], task: TaskSpec, device: torch.device
) -> Callable[[np.ndarray], np.ndarray]:
    def logits(images: np.ndarray) -> np.ndarray:
        with torch.no_grad(), full_precision(device):
            return as_array(forward(normalised(images, task, device)))

    return logits


def torch_features(
    net: Callable[[Tensor], Output], task: TaskSpec, device: torch.device
) -> Callable[[np.ndarray], np.ndarray]:
    return torch_logits(lambda x: net(x).features, task, device)


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
