"""Predictions: one row per sample of a split, the table that every metric and figure is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairflac.errors import UserError
from fairflac.system.arrays import read_all
from fairflac.system.files import replacing

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
        by_row = [getattr(table, name) for name in COLUMNS] + [v for kind in BY_ROW for v in nested[kind].values()]
        by_row += [] if table.guess is None else [table.guess]
        if any(len(column) != len(table) for column in by_row):
            raise ValueError("its columns do not go together")
        return table
