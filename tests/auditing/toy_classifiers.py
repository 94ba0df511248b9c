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
from planted_bars import CLASSES, picture
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


def bars(count: int, aligned: float, seed: int = 0, fewer: int | None = None) -> BiasedDataset:
    """Bars that lie or stand, `count` of each (or `fewer` that stand), on a ground that goes with the class for
    exactly that share of them; a name ends with the ground."""
    rng = np.random.default_rng(seed)
    images, names, y = [], [], []
    for label, number in enumerate((count, count if fewer is None else fewer)):
        for row in range(number):
            ground = label if row < round(aligned * number) else 1 - label
            images.append(np.asarray(picture(label, ground, rng)))
            names.append(f"{CLASSES[label]}/{row}-{ground}")
            y.append(label)
    task = TaskSpec(CLASSES, {}, (36, 36), (0.5,) * 3, (0.5,) * 3)
    return BiasedDataset(np.stack(images), np.array(y), {}, np.array(names), "test", task)


def grounds(data: BiasedDataset) -> np.ndarray:
    return np.array([int(name[-1]) for name in data.names])


def reads_the_ground(images: np.ndarray) -> np.ndarray:
    """Is there more blue than red?"""
    said: np.ndarray = (images[..., 2].mean((1, 2)) > images[..., 0].mean((1, 2))).astype(int)
    return said


def reads_the_bar(images: np.ndarray) -> np.ndarray:
    """Is what is white higher than wide?"""
    white = images.min(3) > 200
    said: np.ndarray = (white.any(2).sum(1) > white.any(1).sum(1)).astype(int)
    return said
