"""A user's own images for a model that is already trained: all of them, at the size that the model wants."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fairflac.data.base import BiasedDataset, Split
from fairflac.data.folder import list_folder
from fairflac.data.listing import MEAN, STD, Listing, aligned_values, read_listing
from fairflac.data.table import list_table
from fairflac.errors import UserError
from fairflac.trained.model import Trained
from fairflac.types import Attribute, TaskSpec


@dataclass(frozen=True)
class Own:
    data: BiasedDataset
    splits: np.ndarray | None  # (N,) the split of each image; None: there are none
    notes: list[str]

    def part(self, split: Split) -> BiasedDataset:
        data, rows = self.data, np.flatnonzero(self.splits == split)
        bias = {name: values[rows] for name, values in data.bias.items()}
        return replace(data, images=data.images[rows], y=data.y[rows], bias=bias, names=data.names[rows], split=split)


def load_own(
    path: Path, model: Trained, cache: Path, columns: tuple[str, ...] | None, allow_outside: bool, strict: bool
) -> Own:
    """A folder with a subfolder for each class, or a CSV file."""
    if path.is_dir():
        if columns:
            raise UserError(f"--attribute {columns[0]} is a column of a CSV file, and '{path}' is a folder")
        listing = list_folder(path)
    else:
        listing = list_table(path, columns, allow_outside)
    read = read_listing(listing, model.decoded_size, cache, fit=model.fit, strict=strict)
    listing = read.listing
    classes = sorted(set(listing.labels))
    if len(classes) < 2:
        raise UserError(f"'{path}' has images of '{classes[0]}' alone: an audit needs two classes or more")
    y = np.searchsorted(classes, np.array(listing.labels))
    splits = None if listing.splits is None else np.array(listing.splits)
    bias, attributes, notes = _attributes(listing, y, len(classes))
    task = TaskSpec(tuple(classes), attributes, model.image_size, MEAN, STD)
    data = BiasedDataset(read.images.pixels, y, bias, np.array(listing.names), "test", task)
    return Own(data, splits, notes)


def _attributes(
    listing: Listing, y: np.ndarray, num_classes: int
) -> tuple[dict[str, np.ndarray], dict[str, Attribute], list[str]]:
    """Columns that group the images; one with another value for nearly every image (an id, a date) does not."""
    bias, attributes, notes = {}, {}, []
    for name, column in listing.attributes.items():
        values, codes = np.unique(np.array(column), return_inverse=True)
        alone = sum(count == 1 for count in Counter(codes.tolist()).values())
        if 2 * alone > len(values):
            notes.append(f"Column '{name}' has {len(values):,} values for {len(y):,} images: no groups, left out.")
            continue
        bias[name] = codes.astype(np.int64)
        attributes[name] = Attribute(tuple(map(str, values)), aligned_values(y, codes, num_classes, len(values)))
    return bias, attributes, notes
