"""A handful of training images kept with a run, so that a report can show what the model saw."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairflac.arrays import read_columns
from fairflac.files import replacing

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
