"""Predictions: one row per sample of a split, the table that every metric and figure is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fairflac.errors import UserError
from fairflac.system.files import read_all, replacing

COLUMNS = ("index", "y", "prediction", "score", "features")
BY_ROW = ("bias", "aligned")  # a column per attribute
BY_ATTRIBUTE = (*BY_ROW, "min_cell", "repeats")


@dataclass(frozen=True)
class Predictions:
    """Columns of equal length N, ordered by `index`."""

    index: np.ndarray  # position in the split
    y: np.ndarray
    prediction: np.ndarray
    score: np.ndarray  # probability of the predicted class
    features: np.ndarray  # (N, D)
    bias: Mapping[str, np.ndarray]  # per attribute; empty when none is known
    aligned: Mapping[str, np.ndarray]  # per attribute: does the value go with the class?
    min_cell: Mapping[str, int] = field(default_factory=dict)  # see `Attribute`; 1 where it is not said
    repeats: Mapping[str, str] = field(default_factory=dict)
    guess: np.ndarray | None = None  # what the bias model named, where the attribute itself is not known
    # (C, K) training images, or others like them, by class and by what the bias model named: what it usually names for
    # a class. Test images may be of another kind, and then it is wrong on most of them.
    guess_counts: np.ndarray | None = None
    images: str = ""  # see `BiasedDataset.identity`; empty in runs of an earlier version

    def __len__(self) -> int:
        return len(self.index)

    def without_labels(self) -> "Predictions":
        """Without what is known of attributes: what no rule sees, no rule can use."""
        return replace(self, bias={}, aligned={}, min_cell={}, repeats={})

    def same_images(self, other: "Predictions") -> bool:
        """Rows can be compared one by one. Classes in the same order are not enough: another seed has other images."""
        shared = self.bias.keys() & other.bias.keys()
        return (
            np.array_equal(self.index, other.index)
            and np.array_equal(self.y, other.y)
            and all(np.array_equal(self.bias[name], other.bias[name]) for name in shared)
            and (self.images == other.images or not (self.images and other.images))
        )

    def take(self, rows: np.ndarray) -> "Predictions":
        """The table of some rows, numbers or a mask."""
        taken: dict[str, Any] = {name: getattr(self, name)[rows] for name in COLUMNS}
        for kind in BY_ROW:
            taken[kind] = {name: values[rows] for name, values in getattr(self, kind).items()}
        if self.guess is not None:
            taken["guess"] = self.guess[rows]
        return replace(self, **taken)

    def save(self, path: Path) -> None:
        columns = {name: getattr(self, name) for name in COLUMNS}
        attributes = {f"{kind}.{name}": v for kind in BY_ATTRIBUTE for name, v in getattr(self, kind).items()}
        columns |= {name: v for name in ("guess", "guess_counts") if (v := getattr(self, name)) is not None}
        with replacing(path) as stream:
            np.savez(stream, **columns, **attributes, images=np.array(self.images))

    @classmethod
    def load(cls, path: Path) -> "Predictions":
        if not path.exists():
            raise UserError(f"there is no '{path}': has this run finished?")
        try:
            return cls._of(read_all(path))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"'{path}' is damaged: delete 'done' beside it and train again") from error

    @classmethod
    def _of(cls, stored: dict[str, np.ndarray]) -> "Predictions":
        """From what `save` wrote; an error if that does not go together."""
        nested: dict[str, Any] = {kind: {} for kind in BY_ATTRIBUTE}
        columns: dict[str, Any] = {name: value if value.ndim else value.item() for name, value in stored.items()}
        for name in [name for name in columns if "." in name]:
            kind, _, attribute = name.partition(".")
            nested[kind][attribute] = columns.pop(name)
        table = cls(**nested, **columns)
        if not table._goes_together():
            raise ValueError("its columns do not go together")
        return table

    def _goes_together(self) -> bool:
        """Has every column the length, shape, kind and range that metrics count on?"""
        classes, values = (self.y, self.prediction), [*self.bias.values(), *_given(self.guess)]
        texts, counts = (self.images, *self.repeats.values()), self.min_cell.values()
        if not all(isinstance(one, str) for one in texts) or not all(isinstance(one, int) for one in counts):
            return False
        labels = all(_is(column, 1, "biu") for column in (self.index, *classes, *values))
        rest = _is(self.score, 1, "f") and _is(self.features, 2, "f")
        if not (labels and rest and all(_is(column, 1, "b") for column in self.aligned.values())):
            return False
        if self.aligned.keys() != self.bias.keys() or not {*self.min_cell, *self.repeats} <= self.bias.keys():
            return False
        by_row = (*classes, self.score, self.features, *values, *self.aligned.values())
        if any(len(column) != len(self) for column in by_row):
            return False
        if not all(_within(column, 0) for column in classes) or not all(_within(column, -1) for column in values):
            return False
        return bool(np.isfinite(self.score).all()) and all(self._counted(n) for n in _given(self.guess_counts))

    def _counted(self, n: np.ndarray) -> bool:
        """Images by class and value, of which there are some."""
        whole = _is(n, 2, "iuf") and self.y.max(initial=0) < len(n) and bool(np.isfinite(n).all())
        return whole and bool(n.min(initial=0) >= 0 and n.sum() > 0)


MOST_LABELS = 1 << 15  # classes or values; a table counts images by class, value and predicted class


def _given(column: np.ndarray | None) -> list[np.ndarray]:
    return [] if column is None else [column]


def _is(column: Any, dimensions: int, kinds: str) -> bool:
    return isinstance(column, np.ndarray) and column.ndim == dimensions and column.dtype.kind in kinds


def _within(column: np.ndarray, least: int) -> bool:
    return bool(column.min(initial=least) >= least and column.max(initial=0) < MOST_LABELS)


# (...) floats, one for each resample: what a metric is of `Counts` with such axes.
Values: TypeAlias = Any


@dataclass(frozen=True)
class Counts:
    """(..., C, K, C) images by class, attribute value and predicted class; leading axes are resamples.

    Values of the attribute that no image has are left out. Groups with too few images (see `Attribute.min_cell`) are
    in the counts, and `counted` tells that their accuracies do not count.
    """

    n: np.ndarray
    aligned: np.ndarray  # (C, K) does the value go with the class?
    counted: np.ndarray  # (C, K)

    @cached_property
    def per_group(self) -> np.ndarray:
        """(..., C, K) images."""
        images: np.ndarray = self.n.sum(-1)
        return images

    @cached_property
    def named(self) -> np.ndarray:
        """(..., K, C) images by value and predicted class."""
        images: np.ndarray = self.n.sum(-3)
        return images

    @property
    def right(self) -> np.ndarray:
        """(..., C, K) images named rightly."""
        return np.moveaxis(np.diagonal(self.n, axis1=-3, axis2=-1), -1, -2)

    def resampled(self, times: int, seed: int) -> "Counts":
        """Bootstrap: every group drawn anew, with replacement, at its own size.

        What is drawn from one group is a multinomial of its predictions, so that no image needs to be touched.
        """
        sizes = self.per_group
        shares = self.n / np.maximum(sizes, 1)[..., None]
        shares[sizes == 0, 0] = 1  # a distribution, of which nothing is drawn
        drawn = np.random.default_rng(seed).multinomial(sizes, shares, size=(times, *sizes.shape))
        return replace(self, n=drawn)


def count(table: Predictions, attribute: str) -> Counts:
    """Groups of one attribute."""
    classes = int(max(table.y.max(initial=0), table.prediction.max(initial=0))) + 1
    values, bias = np.unique(table.bias[attribute], return_inverse=True)
    n = np.zeros((classes, len(values), classes), dtype=np.int64)
    np.add.at(n, (table.y, bias, table.prediction), 1)
    aligned = np.zeros((classes, len(values)), dtype=bool)
    aligned[table.y, bias] = table.aligned[attribute]
    return Counts(n, aligned, n.sum(-1) >= max(table.min_cell.get(attribute, 1), 1))


def count_without_groups(table: Predictions) -> Counts:
    """Where no attribute is known: all images of a class are one group."""
    nobody = {"": np.zeros_like(table.y)}
    return count(Predictions(**{**vars(table), "bias": nobody, "aligned": nobody, "min_cell": {}}), "")
