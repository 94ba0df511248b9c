"""Predictions: one row per sample of a split, the table that every metric and figure is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from fairflac.errors import UserError
from fairflac.files import replacing

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

    def __len__(self) -> int:
        return len(self.index)

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
            np.savez(stream, **columns, **attributes)

    @classmethod
    def load(cls, path: Path) -> "Predictions":
        try:
            with path.open("rb") as stream, np.load(stream) as stored:
                columns = {name: stored[name] for name in stored.files}
        except FileNotFoundError:
            raise UserError(f"there is no '{path}': has this run finished?") from None
        except (ValueError, OSError, EOFError, KeyError, BadZipFile) as error:
            raise UserError(f"'{path}' is damaged: delete 'done' beside it and train again") from error
        nested: dict[str, Any] = {kind: {} for kind in BY_ATTRIBUTE}
        for name in [name for name in columns if "." in name]:
            kind, _, attribute = name.partition(".")
            value = columns.pop(name)
            nested[kind][attribute] = value if value.ndim else value.item()
        return cls(**nested, **columns)
