"""A user's own images by path, in a folder, listed in a table, or in its rows; and what a run would see of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fairflac.data.own.csv_file import Table, list_table, read_sheet
from fairflac.data.own.folder import Folder, folder_sheet, list_folder
from fairflac.data.own.listing import Listing, OwnImages, checked_classes, split_of
from fairflac.data.own.sheet import USUAL, ColumnChoice, Sheet


def own_images(
    path: Path, *, seed: int = 0, allow_outside: bool = False, choice: ColumnChoice = USUAL, **options: Any
) -> OwnImages:
    """`options`: those that both kinds have."""
    kind = Folder if path.is_dir() else Table
    columns = {"path_column": choice.path, "label_column": choice.label}
    given: dict[str, Any] = {"path": path, "allow_outside": allow_outside, **columns, **options}
    return kind(seed, **given)


def own_sheet(path: Path, choice: ColumnChoice = USUAL) -> Sheet | None:
    """The table that a path is or holds; None: a folder of class folders."""
    return folder_sheet(path, choice) if path.is_dir() else read_sheet(path, choice)


def list_own(
    path: Path, columns: Sequence[str] | None = None, allow_outside: bool = False, choice: ColumnChoice = USUAL
) -> Listing:
    listed = list_folder if path.is_dir() else list_table
    return listed(path, columns, allow_outside, choice)


class DataCheck(NamedTuple):
    lines: list[str]
    warnings: list[str]  # none: all is well


def check_own_images(
    path: Path, root: Path, *, strict: bool = False, allow_outside: bool = False, choice: ColumnChoice = USUAL
) -> DataCheck:
    """What a run would see: images of each class in each split, the values of attributes, and what is odd."""
    dataset = own_images(path, strict=strict, allow_outside=allow_outside, choice=choice)
    listing, reading = dataset.listing(), dataset.reading(root)
    classes = checked_classes(listing)
    lines: list[str] = []
    warnings: list[str] = []
    read = reading.read(listing, warnings.append)
    nothing = np.zeros((len(read.images.kept), 1, 1, 3), np.uint8)  # splits are counted, and need no pixels in memory
    read = replace(read, images=replace(read.images, pixels=nothing))
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
