"""Corrupted-CIFAR10: photographs whose kind of corruption goes with their class."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray
from pydantic import Field

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.sets import cifar10, frost_textures
from fairflac.data.sets.corrupted_images import (
    READY_MADE,
    TYPE0,
    TYPE1,
    VALUES,
    CorruptedSet,
    assign_corruptions,
    corrupt,
    file_name,
    origin_of,
    read_set,
    ready_made,
    write_set,
)
from fairflac.errors import UserError
from fairflac.types import Attribute, TaskSpec

VERSION = 1  # of the construction; raised when it changes, so that older sets are built again
TEST_Q = 0.1  # every corruption equally often with every class
# Of the ready-made archive nobody says which corruption is which.
KINDS = {0: TYPE0, 1: TYPE1, "archive": tuple(f"corruption {value}" for value in range(VALUES))}

Q = Annotated[float, Field(ge=0.1, le=1)]


def task_of(kind: Literal[0, 1, "archive"]) -> TaskSpec:
    return TaskSpec(
        classes=cifar10.CLASSES,
        attributes={"corruption": Attribute(KINDS[kind], aligned=tuple(range(VALUES)))},
        image_size=(32, 32),
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2023, 0.1994, 0.2010),
    )


@final
class CorruptedCIFAR10(Dataset):
    """Corrupted-CIFAR10 (Nam et al., NeurIPS 2020).

    Input: 32 x 32 RGB.
    Class: CIFAR-10's, airplane to truck.
    Bias: `corruption`, one per class; a share `q` of each class has its own corruption, counted and not drawn. `type`
        chooses the ten corruptions: 0 is weather and digital ones, 1 is noise and blur, "archive" those of the
        ready-made pictures. `severity` is the CIFAR-C level that is applied; LfF's "severity 4" applies level 5.
    Splits: train 45,000, validation 5,000 held out of CIFAR-10's training images with the same share of conflicting
        ones (`validation = 0` is the published 50,000), test 10,000 with q = 0.1. The archive has its own validation.
    Source: CIFAR-10 (Krizhevsky 2009), `fairflac data get cifar10`, built at first use and then kept; or one of two
        ready-made public layouts, `fairflac data get corrupted-cifar10 --from FOLDER`.
    Licence: none stated for CIFAR-10; its authors ask to be cited. Frost photographs: imagecorruptions, Apache-2.0.
    Deviations: `seed` chooses the validation images; the corrupted images are the same for all seeds, as they are in
        the published sets. Their random draws are ours; see the package `corruptions` for what else differs. Where
        the photographs of frost cannot be had, generated textures stand in, which the built set's origin tells.
    """

    name: ClassVar[str] = "corrupted-cifar10"
    attributes: ClassVar[tuple[str, ...]] = ("corruption",)
    task: ClassVar[TaskSpec] = task_of(0)

    def __init__(
        self,
        seed: int = 0,
        *,
        q: Q = 0.95,
        type: Literal[0, 1, "archive"] = 0,
        severity: Literal[1, 2, 3, 4, 5] = 5,
        validation: Annotated[float, Field(ge=0, lt=1)] = 0.1,
        validation_q: Q | None = None,  # None: as biased as the training data, which is what a user would have
    ) -> None:
        if type == "archive" and validation_q is not None:
            raise UserError(f"validation_q = {validation_q} needs clean images, which the archive has not: remove it")
        self.seed = seed
        self.q = q
        self.type: Literal[0, 1, "archive"] = type
        self.severity = severity
        self.validation = validation
        self.validation_q = validation_q

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        found = False
        for name, content in ready_made(source) if source else ():
            found = True
            write_set(root / cls.name / name, content)
            say(f"{cls.name}: {name}, {content.describe()}")
        if not found:
            cifar10.get(root, source, say)
            frost_textures.get(root, source, say)

    @classmethod
    def check(cls, root: Path) -> list[str]:
        lines = [f"{path.name}: {read_set(path).describe()}" for path in sorted((root / cls.name).glob("*.npz"))]
        if lines and not (root / "cifar10").exists():
            return lines  # ready-made sets need nothing else
        lines += cifar10.check(root)
        lines.append(f"frost: {'photographs' if frost_textures.have(root) else 'generated textures stand in'}")
        _, y = cifar10.load(root, "train")
        for q in (0.95, 0.98, 0.99, 0.995):
            conflicting = int((assign_corruptions(y, q) != y).sum())
            lines.append(f"q = {q}: {conflicting} of {len(y)} training images conflict with their corruption")
        return lines

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        if split == "test":
            return self._dataset(self._whole(root, "test", TEST_Q), split)
        own = root / self.name / file_name("validation", self.type, self.severity, self.q)
        if split == "validation" and self.validation == 0:
            return None
        if self.type == "archive" and own.is_file():
            return self._dataset(self._whole(root, "train", self.q) if split == "train" else read_set(own), split)
        whole = self._whole(root, "train", self.q)
        held_out = _held_out(whole, self.validation, np.random.default_rng([self.seed, 0]))
        if split == "train":
            return self._dataset(whole.chosen(np.flatnonzero(~held_out)), split)
        chosen = np.flatnonzero(held_out)
        if self.validation_q is not None:
            return self._dataset(self._held_out_again(root, chosen, self.validation_q), split)
        return self._dataset(whole.chosen(chosen), split)

    def _dataset(self, content: CorruptedSet, split: Split) -> BiasedDataset:
        bias = {"corruption": content.corruption}
        return BiasedDataset(content.images, content.y, bias, content.names, split, task_of(self.type))

    def _whole(self, root: Path, part: cifar10.Part, q: float) -> CorruptedSet:
        """All training or test images, as they are stored, built if need be."""
        path = root / self.name / file_name(part, self.type, self.severity, q if part == "train" else None)
        if self._usable(root, path):
            return read_set(path)
        if self.type == "archive":
            raise UserError(f"'{path}' is missing: run 'fairflac data get {self.name} --from FOLDER' with the pictures")
        clean = cifar10.load(root, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(".lock")):  # of several processes one builds
            if not self._usable(root, path):
                write_set(path, self._built(root, part, *clean, q))
        return read_set(path)

    def _held_out_again(self, root: Path, chosen: NDArray[np.int64], q: float) -> CorruptedSet:
        """Some of the training images, corrupted anew with another q; few enough not to be stored."""
        images, y = cifar10.load(root, "train")
        built = self._built(root, "validation", images[chosen], y[chosen], q)
        return built._replace(names=_names("train", chosen))

    def _built(
        self, root: Path, split: Split, images: NDArray[np.uint8], y: NDArray[np.int64], q: float
    ) -> CorruptedSet:
        textures = frost_textures.load(root) if frost_textures.have(root) else None
        corruptions = assign_corruptions(y, q)
        key = VERSION, ("train", "validation", "test").index(split)
        corrupted = corrupt(images, corruptions, KINDS[self.type], self.severity, key, textures)
        origin = self._origin(photographs=textures is not None)
        return CorruptedSet(corrupted, y, corruptions, _names(split, np.arange(len(y))), origin)

    def _origin(self, *, photographs: bool) -> str:
        made = f"built by construction {VERSION}"
        if "frost" not in KINDS[self.type]:
            return made
        return f"{made} with {'photographs of frost' if photographs else 'generated frost'}"

    def _usable(self, root: Path, path: Path) -> bool:
        """Is the stored set there and of this construction, and not second best now that there are photographs?"""
        origin = origin_of(path)
        if origin is None or origin.startswith(READY_MADE):
            return origin is not None
        return origin == self._origin(photographs=True) or (
            origin == self._origin(photographs=False) and not frost_textures.have(root)
        )


def _names(part: str, index: NDArray[np.int64]) -> NDArray[np.str_]:
    return np.array([f"{part}/{number:05d}" for number in index])


def _held_out(whole: CorruptedSet, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(N,) which images validate: `share` of the aligned and of the conflicting images of every class."""
    chosen = np.zeros(len(whole.y), dtype=bool)
    for label in range(VALUES):
        for aligned in (True, False):
            members = np.flatnonzero((whole.y == label) & ((whole.corruption == label) == aligned))
            chosen[rng.permutation(members)[: round(len(members) * share)]] = True
    return chosen
