"""What the sets of faces share: attribute values in one order, and the way from names to images."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairflac.data.base import BiasedDataset, Split
from fairflac.data.own.listing import MEAN, STD
from fairflac.data.pixels.cache import read_images
from fairflac.data.pixels.decode import Framing
from fairflac.data.pixels.stored import Pixels
from fairflac.errors import UserError
from fairflac.types import Attribute, TaskSpec

# One order in all sets: a bias model that was trained on one names the values of another by number. The first value
# goes with the first class wherever the sets are biased.
ATTRIBUTES = {
    "gender": Attribute(("male", "female"), aligned=(0, 1)),
    "race": Attribute(("white", "not white"), aligned=(0, 1)),
    "age": Attribute(("adult", "child"), aligned=(0, 1)),
}


@dataclass(frozen=True)
class Faces:
    """Labelled files, sorted by name; all columns go together."""

    names: np.ndarray  # (N,) str, relative to the folder of the set
    y: np.ndarray  # (N,) int64
    bias: dict[str, np.ndarray]  # per attribute (N,) int64

    def __len__(self) -> int:
        return len(self.names)

    def take(self, rows: np.ndarray) -> "Faces":
        return Faces(self.names[rows], self.y[rows], {name: values[rows] for name, values in self.bias.items()})

    def dataset(self, pixels: Pixels, split: Split, task: TaskSpec) -> BiasedDataset:
        return BiasedDataset(images=pixels, y=self.y, bias=self.bias, names=self.names, split=split, task=task)


def face_task(classes: tuple[str, ...], attributes: tuple[str, ...], size: int) -> TaskSpec:
    known = {name: ATTRIBUTES[name] for name in attributes}
    return TaskSpec(classes=classes, attributes=known, image_size=(size, size), mean=MEAN, std=STD)


def read_faces(
    folder: Path,
    faces: Faces,
    split: Split,
    task: TaskSpec,
    framing: Framing,
    cache: Path,
    *,
    strict: bool,
    label: str,
) -> BiasedDataset:
    """A cache of just these files, which stays on disk: it may exceed the memory."""
    names = faces.names.tolist()
    stored = framing.stored(task.image_size)
    images = read_images(folder, names, stored, cache, fit=framing.fit, strict=strict, label=f"{label} {split}")
    if len(images.kept) == 0:
        raise UserError(f"'{folder}' has none of the {len(names)} images that are listed: put them there")
    return faces.take(images.kept).dataset(images.pixels, split, task)
