"""Test images kept with a run, so that a report can show neighbours and mistakes."""

from dataclasses import dataclass
from io import BytesIO
from math import ceil, isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PIL import Image

from fairflac.errors import UserError
from fairflac.metrics.representation import subsample
from fairflac.system.files import BYTES, FLAGS, TEXTS, WHOLE_NUMBERS, read_all, read_columns, replacing

if TYPE_CHECKING:  # a report reads a gallery and needs no torch
    from fairflac.data.base import BiasedDataset
    from fairflac.metrics.predictions import Predictions


class Pictures(Protocol):
    """N of (H, W, 3) uint8: an array, or files that are decoded when one of them is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int, /) -> np.ndarray: ...


SHOWN = 400  # the same for all runs of one test split
MISTAKES = 24  # of this run, the surest first
SIDE = 64  # pixels at most
DAMAGED = "delete it, or train again for a new one"


@dataclass(frozen=True)
class Gallery:
    """M images of the test split, in the order of `index`."""

    index: np.ndarray  # position in the split
    images: np.ndarray  # (M, H, W, 3) uint8
    names: np.ndarray  # where each comes from
    overview: "Overview | None" = None  # of all images, where not all are kept; None in runs of an earlier version

    @classmethod
    def of(cls, data: "BiasedDataset", table: "Predictions") -> "Gallery":
        wrong = np.flatnonzero(table.prediction != table.y)
        mistakes = wrong[np.argsort(-table.score[wrong], kind="stable")][:MISTAKES]
        index = np.union1d(_from_every_group(data), mistakes)
        overview = Overview.of(data.images) if len(index) < len(data) else None
        images = np.stack([shrink(image, SIDE) for image in data.images[index]])
        return cls(index, images, data.names[index], overview)

    def save(self, path: Path) -> None:
        more = {} if self.overview is None else {f"overview_{name}": v for name, v in vars(self.overview).items()}
        with replacing(path) as stream:
            np.savez_compressed(stream, index=self.index, images=self.images, names=self.names.astype(str), **more)

    @classmethod
    def load(cls, path: Path, tested: int | None = None) -> "Gallery":
        """`tested`: how many images were, where that is known."""
        columns = {"index": (1, WHOLE_NUMBERS), "images": (4, BYTES), "names": (1, TEXTS)}
        index, images, names = read_columns(path, columns, DAMAGED)
        overview = Overview.load(path)
        for rows in (index, *([overview.index] if overview else [])):
            if rows.min(initial=0) < 0 or (tested is not None and rows.max(initial=-1) >= tested):
                raise UserError(f"'{path}' is damaged: {DAMAGED}")
        return cls(index, images, names, overview)


MOST_SHOWN = 10_000  # images of an overview
AREA = 6_000_000  # pixels of its sheet: 24 by 24 for each of the most
SIDE_SHOWN = 32  # pixels at most
QUALITY = 80  # of WebP, for photographs


@dataclass(frozen=True)
class Overview:
    """All images of the test split, or as many as a page can hold, tiny, in one sheet."""

    index: np.ndarray  # position in the split
    sheet: np.ndarray  # uint8, a WebP file: the image at place `k` is in column `k % columns` and line `k // columns`
    columns: int
    ratio: float  # width by height of one image

    @classmethod
    def of(cls, images: Pictures) -> "Overview":
        index = subsample(len(images), MOST_SHOWN)
        side = min(SIDE_SHOWN, isqrt(AREA // len(index)))
        small = np.stack([shrink(images[row], side) for row in index])
        columns = max(2, ceil(len(index) ** 0.5))
        ratio = small.shape[2] / small.shape[1]
        return cls(index, np.frombuffer(webp(sheet(small, columns)), dtype=np.uint8), columns, ratio)

    @classmethod
    def load(cls, path: Path) -> "Overview | None":
        try:
            stored = read_all(path)
            if "overview_index" not in stored:
                return None
            index, file, columns, ratio = (stored[f"overview_{name}"] for name in cls.__dataclass_fields__)
            if index.ndim != 1 or index.dtype.char not in WHOLE_NUMBERS or file.dtype.char not in BYTES:
                raise ValueError("it is no overview")
            return cls(index, file, int(columns), float(ratio))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"'{path}' is damaged: {DAMAGED}") from error


def sheet(images: np.ndarray, columns: int) -> np.ndarray:
    """(M, H, W, 3) → one image with them in lines, two lines at least: places are shares of the way to the last."""
    count, height, width, _ = images.shape
    lines = max(2, -(-count // columns))
    grid = np.zeros((lines * columns, height, width, 3), dtype=np.uint8)
    grid[:count] = images
    whole: np.ndarray = grid.reshape(lines, columns, height, width, 3).swapaxes(1, 2)
    return whole.reshape(lines * height, columns * width, 3)


def webp(image: np.ndarray) -> bytes:
    """Drawings are smaller without loss and photographs with it: the smaller file is taken."""
    files = []
    for lossless in (True, False):
        stream = BytesIO()
        Image.fromarray(image).save(stream, "WEBP", lossless=lossless, quality=QUALITY, method=2)
        files.append(stream.getvalue())
    return min(files, key=len)


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
        return cls(np.asarray(data.images[chosen]), data.y[chosen], conflicting[chosen])

    def save(self, path: Path) -> None:
        with replacing(path) as stream:
            np.savez(stream, images=self.images, y=self.y, conflicting=self.conflicting)

    @classmethod
    def load(cls, path: Path) -> "Samples":
        columns = {"images": (4, BYTES), "y": (1, WHOLE_NUMBERS), "conflicting": (1, FLAGS)}
        return cls(*read_columns(path, columns, "delete it, and reports do without"))
