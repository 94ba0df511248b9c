"""A user's own images by path, in a folder or listed in a CSV file, and what a run would see of them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairflac.data.own.csv_file import Table
from fairflac.data.own.folder import Folder
from fairflac.data.own.listing import checked_classes, split_of


def own_images(path: Path, *, strict: bool = False) -> Folder | Table:
    return Folder(path=path, strict=strict) if path.is_dir() else Table(path=path, strict=strict)


class DataCheck(NamedTuple):
    lines: list[str]
    warnings: list[str]  # none: all is well


def check_own_images(path: Path, root: Path, *, strict: bool = False) -> DataCheck:
    """What a run would see: images of each class in each split, the values of attributes, and what is odd."""
    dataset = own_images(path, strict=strict)
    listing, reading = dataset.listing(), dataset.reading(root)
    classes = checked_classes(listing)
    lines: list[str] = []
    warnings: list[str] = []
    read = reading.read(listing, warnings.append)
    for split in ("train", "validation", "test"):
        part = split_of(read, classes, reading, split)
        if part is None:
            lines.append(f"{split}: none")
            continue
        counts = np.bincount(part.y, minlength=part.task.num_classes)
        shown = ", ".join(f"{name} {count}" for name, count in zip(part.task.classes, counts, strict=True))
        lines.append(f"{split}: {len(part)} images ({shown})")
        if split == "train":
            lines += [f"attribute {name}: {', '.join(a.values)}" for name, a in part.task.attributes.items()]
    return DataCheck(lines, warnings)
