"""What a dataset is: obtained with `get`, proved with `check`, read with `load`; and how one without splits is split.

Splits go by content, so that copies of an image never straddle them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from fairflac.data.pixels.decode import Framing
from fairflac.data.pixels.stored import Pixels, rows_of
from fairflac.errors import unknown
from fairflac.metrics.predictions import Predictions
from fairflac.types import TaskSpec

Split = Literal["train", "validation", "test"]


@dataclass(frozen=True)
class BiasedDataset:
    """One split, its images in memory, memory-mapped or in their files."""

    images: Pixels  # (N, H, W, 3) uint8; or (N, D) float32, embeddings of images
    y: np.ndarray  # (N,) int64
    bias: Mapping[str, np.ndarray]  # per attribute (N,) int64; empty when none is known
    names: np.ndarray  # (N,) str, where each image comes from
    split: Split
    task: TaskSpec
    guess: np.ndarray | None = None  # (N,) int64 values that were found or guessed (`groups.csv`); None: there are none
    guess_values: tuple[str, ...] = ()  # what these are called

    def __post_init__(self) -> None:
        guess = () if self.guess is None else (self.guess,)
        lengths = {len(column) for column in (self.images, self.y, self.names, *self.bias.values(), *guess)}
        if len(lengths) > 1:
            raise ValueError(f"images, classes, names and attributes must be of one length, not {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray) -> "BiasedDataset":
        """Those at these positions, in this order."""
        images, bias = rows_of(self.images, rows), {name: values[rows] for name, values in self.bias.items()}
        guess = None if self.guess is None else self.guess[rows]
        return replace(self, images=images, y=self.y[rows], bias=bias, names=self.names[rows], guess=guess)

    @property
    def identity(self) -> str:
        """Which images these are, in this order, by their names: what goes by position is of one set only."""
        return sha256("\0".join(map(str, self.names)).encode(errors="surrogateescape")).hexdigest()[:16]

    def joint_bias(self) -> np.ndarray | None:
        """(N,) one number per combination of attribute values, no two combinations alike; None without attributes."""
        if not self.bias:
            return None
        sizes = [len(self.task.attributes[name].values) for name in self.bias]
        return np.ravel_multi_index(tuple(self.bias.values()), tuple(sizes)).astype(np.int64)

    def predictions(self, prediction: np.ndarray, score: np.ndarray, features: np.ndarray) -> Predictions:
        """(N,) predicted classes, (N,) their probabilities, (N, D) features → the table that metrics are made from."""
        attributes = self.task.attributes
        return Predictions(
            index=np.arange(len(self)),
            y=self.y,
            prediction=prediction,
            score=score,
            features=features,
            bias=self.bias,
            aligned={name: self.bias[name] == np.array(attributes[name].aligned)[self.y] for name in self.bias},
            min_cell={name: attributes[name].min_cell for name in self.bias},
            repeats={name: repeats for name in self.bias if (repeats := attributes[name].repeats)},
            images=self.identity,
        )

    def with_target(self, target: str) -> "BiasedDataset":
        """The same images with an attribute as the class to predict, as a bias model is trained."""
        if target == "class":
            return self
        if target not in self.bias:
            unknown("target", target, {"class", *self.bias})
        task = replace(self.task, classes=self.task.attributes[target].values, attributes={})
        return replace(self, y=self.bias[target], bias={}, task=task)


class Dataset(ABC):
    """A dataset with its options as keyword arguments of `__init__`.

    Docstrings have fixed headings: Input, Class, Bias, Splits, Source, Licence.
    """

    name: ClassVar[str]
    attributes: ClassVar[tuple[str, ...] | None]  # which bias attributes it has; None: known once it is loaded
    framing: ClassVar[Framing] = Framing()  # of files; its models frame other files alike
    training_images: ClassVar[int | None] = None  # None: nobody knows before they are counted
    usual_size: ClassVar[int | None] = None  # pixels a side, where no option `size` says it
    seed: int

    @classmethod
    def expected_images(cls, options: Mapping[str, Any]) -> int | None:
        """Training images with these options, for estimates."""
        return cls.training_images

    @classmethod
    @abstractmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        """Obtain the files, from a folder the user names or from public sources."""

    @classmethod
    @abstractmethod
    def check(cls, root: Path) -> list[str]:
        """Lines that say what is there (counts, sizes, hashes); an error names the first file that is not right."""

    @abstractmethod
    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        """One split; None where this dataset has no such split."""


def stratified_split(
    digests: np.ndarray, y: np.ndarray, seed: int, validation: float, test: float
) -> dict[Split, np.ndarray]:
    """(N,) content digests, (N,) classes → sorted positions of each split.

    In each class the distinct contents, in an order that depends on them and on the seed alone, are cut at the wanted
    shares. One image of three goes to the test split at least, and one stays for training. A content that occurs in
    several classes goes where the first of them sends it.
    """
    assigned: dict[int, Split] = {}
    for label in np.unique(y):
        contents = sorted({int(d) for d in digests[y == label]} - assigned.keys(), key=lambda d: _rank(d, seed))
        for name, members in _cut(contents, validation, test).items():
            assigned.update(dict.fromkeys(members, name))
    where = np.array([assigned[int(digest)] for digest in digests])
    return {name: np.flatnonzero(where == name) for name in ("train", "validation", "test")}


def _cut(contents: list[int], validation: float, test: float) -> dict[Split, list[int]]:
    n = len(contents)
    in_test = min(max(round(n * test), 1 if n > 2 and test > 0 else 0), n - 1) if n else 0
    in_validation = min(max(round(n * validation), 1 if n > 5 and validation > 0 else 0), max(n - in_test - 1, 0))
    return {
        "test": contents[:in_test],
        "validation": contents[in_test : in_test + in_validation],
        "train": contents[in_test + in_validation :],
    }


def hash_split(
    names: Sequence[str], shares: Sequence[float], seed: int, digests: np.ndarray | None = None
) -> list[np.ndarray]:
    """Distinct names → positions of each share, in an order that depends on names and seed alone.

    With (N,) content digests, copies of an image go where the first of their names goes, and count as one.
    """
    contents = names if digests is None else digests.tolist()
    members: dict[object, list[int]] = {}
    for position in sorted(range(len(names)), key=names.__getitem__):
        members.setdefault(contents[position], []).append(position)
    shuffled = sorted(members.values(), key=lambda copies: _rank(names[copies[0]], seed))
    cuts = [0, *(round(len(shuffled) * share) for share in accumulate(shares))]
    return [
        np.array([position for copies in shuffled[start:end] for position in copies], dtype=np.int64)
        for start, end in pairwise(cuts)
    ]


def _rank(key: int | str, seed: int) -> bytes:
    return sha256(f"{seed} {key}".encode(errors="surrogateescape")).digest()
