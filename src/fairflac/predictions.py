"""Predictions: one row per sample of a split, the table that every metric and figure is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from fairflac.errors import UserError
from fairflac.files import replacing


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

    def __len__(self) -> int:
        return len(self.index)

    def save(self, path: Path) -> None:
        columns = {name: getattr(self, name) for name in ("index", "y", "prediction", "score", "features")}
        attributes = {f"{kind}.{name}": v for kind in ("bias", "aligned") for name, v in getattr(self, kind).items()}
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
        nested: dict[str, dict[str, np.ndarray]] = {"bias": {}, "aligned": {}}
        for name in [name for name in columns if "." in name]:
            kind, _, attribute = name.partition(".")
            nested[kind][attribute] = columns.pop(name)
        return cls(bias=nested["bias"], aligned=nested["aligned"], **columns)
