"""Test images kept with a run, so that a report can show neighbours and mistakes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from fairflac.system.files import read_columns, replacing

if TYPE_CHECKING:  # a report reads a gallery and needs no torch
    from fairflac.data.base import BiasedDataset
    from fairflac.metrics.predictions import Predictions

SHOWN = 400  # the same for all runs of one test split
MISTAKES = 24  # of this run, the surest first
SIDE = 64  # pixels at most


@dataclass(frozen=True)
class Gallery:
    """M images of the test split, in the order of `index`."""

    index: np.ndarray  # position in the split
    images: np.ndarray  # (M, H, W, 3) uint8
    names: np.ndarray  # where each comes from

    @classmethod
    def of(cls, data: "BiasedDataset", table: "Predictions") -> "Gallery":
        wrong = np.flatnonzero(table.prediction != table.y)
        mistakes = wrong[np.argsort(-table.score[wrong], kind="stable")][:MISTAKES]
        index = np.union1d(_from_every_group(data), mistakes)
        return cls(index, np.stack([shrink(image, SIDE) for image in data.images[index]]), data.names[index])

    def save(self, path: Path) -> None:
        with replacing(path) as stream:
            np.savez_compressed(stream, index=self.index, images=self.images, names=self.names.astype(str))

    @classmethod
    def load(cls, path: Path) -> "Gallery":
        return cls(*read_columns(path, ("index", "images", "names"), "delete it, or train again for a new one"))


def _from_every_group(data: "BiasedDataset") -> np.ndarray:
    """Groups of class and attribute take turns, so that rare ones are there; the same images for every model."""
    order = np.random.default_rng(0).permutation(len(data))
    joint = data.joint_bias()
    group = data.y if joint is None else data.y * (joint.max(initial=0) + 1) + joint
    sorted_by_group = order[np.argsort(group[order], kind="stable")]
    _, starts, sizes = np.unique(group[sorted_by_group], return_index=True, return_counts=True)
    turn = np.arange(len(data)) - np.repeat(starts, sizes)
    chosen: np.ndarray = sorted_by_group[np.argsort(turn, kind="stable")][:SHOWN]
    return chosen


def shrink(image: np.ndarray, side: int) -> np.ndarray:
    """(H, W, 3) → the same with no side longer than `side`."""
    height, width = image.shape[:2]
    scale = side / max(height, width)
    if scale >= 1:
        return image
    size = (max(1, round(scale * width)), max(1, round(scale * height)))
    return np.asarray(Image.fromarray(np.ascontiguousarray(image)).resize(size, Image.Resampling.BOX))


if TYPE_CHECKING:  # a report reads samples and needs no torch
    from fairflac.data.base import BiasedDataset

CLASSES, PER_CLASS = 10, 6


@dataclass(frozen=True)
class Samples:
    """M images with their class; `conflicting` marks those whose attribute does not go with it."""

    images: np.ndarray  # (M, H, W, 3) uint8
    y: np.ndarray
    conflicting: np.ndarray

    @classmethod
    def of(cls, data: "BiasedDataset") -> "Samples":
        """The first few of each class, conflicting ones last where an attribute is known and there are any."""
        conflicting = np.zeros(len(data), dtype=bool)
        for name, values in data.bias.items():
            conflicting |= values != np.array(data.task.attributes[name].aligned)[data.y]
        chosen: list[int] = []
        for label in range(min(CLASSES, data.task.num_classes)):
            other = np.flatnonzero((data.y == label) & conflicting)[: PER_CLASS // 3]
            usual = np.flatnonzero((data.y == label) & ~conflicting)[: PER_CLASS - len(other)]
            chosen += [*usual, *other]
        return cls(data.images[chosen], data.y[chosen], conflicting[chosen])

    def save(self, path: Path) -> None:
        with replacing(path) as stream:
            np.savez(stream, images=self.images, y=self.y, conflicting=self.conflicting)

    @classmethod
    def load(cls, path: Path) -> "Samples":
        return cls(*read_columns(path, ("images", "y", "conflicting"), "delete it, and reports do without"))
