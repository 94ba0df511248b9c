"""Classifiers for audits: one that is trained in a blink, and rules that no training is needed for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric

from fairflac.auditing.images import AuditedImages
from fairflac.data.base import BiasedDataset
from fairflac.inference.model import Classifier, torch_logits
from fairflac.types import TaskSpec
from toy import TASK, build_toy_method, prepared_training, toy_data

ALWAYS, NEVER = 0.05, 0.5  # share of the images whose brightness goes against their class


def toy_model(conflicting: float, seed: int, folder: Path, fabric: Fabric) -> Classifier:
    """Trained on 800 images of a line, across or down, whose brightness gives it away, or does not."""
    torch.manual_seed(seed)
    method = build_toy_method("vanilla")
    data = toy_data(800, conflicting, seed)
    prepared_training(method, data, folder, fabric, epochs=30, batch_size=64, schedule="cosine").fit("", silent=True)
    logits = torch_logits(method.eval().predict, TASK, torch.device("cpu"))
    return Classifier("toy", logits, TASK.image_size, TASK.image_size, TASK.classes)


def toy_images(conflicting: float, seed: int, *, labelled: bool = False) -> AuditedImages:
    """Images that the model of this seed has not seen, and some for the bias model, as biased as its own."""
    data, training = toy_data(400, conflicting, 1000 + seed), toy_data(400, conflicting, 2000 + seed)
    return AuditedImages(data if labelled else without_labels(data), without_labels(training), ("400 toys.",))


def without_labels(data: BiasedDataset) -> BiasedDataset:
    task = TaskSpec(TASK.classes, {}, TASK.image_size, TASK.mean, TASK.std)
    return BiasedDataset(data.images, data.y, {}, data.names, data.split, task)


def rule(says: Callable[[np.ndarray], np.ndarray], size: int = 8, classes: tuple[str, ...] | None = None) -> Classifier:
    """A model that names class `says(images)`, (B,) whole numbers, and is sure of it."""

    def logits(images: np.ndarray) -> np.ndarray:
        return 4 * np.eye(len(classes or "ab"), dtype=np.float32)[says(images)]

    return Classifier("rule", logits, (size, size), (size, size), classes)
