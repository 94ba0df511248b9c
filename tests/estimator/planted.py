"""Samples with a planted shortcut for the estimator: coloured digits as images, and as embeddings."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from fairflac.data.sets.biased_mnist import BiasedDigits
from toy import toy_data

TOY = {"epochs": 2, "batch_size": 16, "random_state": 0}
TOY_NET = {"net": "simple-conv", "settings": {"channels": [2, 2, 4, 4], "kernel_size": 3}}


class Digits(NamedTuple):
    """As biased as the demo's; those to test with have any colour."""

    x: np.ndarray
    y: np.ndarray
    colour: np.ndarray


def digits(split: str) -> Digits:
    data = BiasedDigits(0, q=0.97, validation=0.0).load(Path(), split)  # type: ignore[arg-type]
    assert data is not None
    return Digits(data.images, data.y, data.bias["colour"])


def embedded(images: np.ndarray) -> np.ndarray:
    """(N, 256) random projections of images shrunk to 14 x 14: digit and colour, mixed beyond recognition."""
    small = images.reshape(len(images), 14, 2, 14, 2, 3).mean((2, 4)).reshape(len(images), -1) / 255
    return (small @ np.random.default_rng(0).normal(size=(small.shape[1], 256)) / 16).astype(np.float32)


def lines(n: int = 48, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tiny images with a line across, (N, 12, 12, 3); what they show in words; the shade that goes with it."""
    data = toy_data(n, seed=seed)
    return data.images.repeat(2, 1).repeat(2, 2), np.array(data.task.classes)[data.y], data.bias["shade"]


def save_folder(folder: Path, images: np.ndarray, labels: np.ndarray) -> Path:
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        path = folder / str(label) / f"{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    return folder
