"""Folders of small pictures with a planted shortcut, or without: a bar lies or stands, on a red or blue ground."""

from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ("lying", "standing")


def draw_folder(folder: Path, count: int, aligned: float, seed: int = 0, classes: tuple[str, str] = CLASSES) -> Path:
    """`count` pictures of each class; the ground goes with the class for a share of them."""
    rng = np.random.default_rng(seed)
    for y, label in enumerate(classes):
        for number in range(count):
            ground = y if rng.random() < aligned else 1 - y
            picture(y, ground, rng).save(_made(folder / label) / f"{number:04}-{ground}.png")
    return folder


def picture(y: int, ground: int, rng: np.random.Generator) -> Image.Image:
    pixels = rng.integers(0, 60, (36, 36, 3))
    pixels[..., 2 * ground] += 150  # red or blue
    start, other = rng.integers(4, 12), rng.integers(6, 28)
    bar = (slice(other, other + 4), slice(start, start + 20))
    pixels[bar if y == 0 else bar[::-1]] = 240
    return Image.fromarray(pixels.astype(np.uint8))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
