"""A user's own images by path: a folder or a CSV file."""

from pathlib import Path

import numpy as np

from fairflac.data.folder import Folder
from fairflac.data.table import Table


def own_images(path: Path, *, strict: bool = False) -> Folder | Table:
    return Folder(path=path, strict=strict) if path.is_dir() else Table(path=path, strict=strict)


def describe(path: Path, root: Path, *, strict: bool = False) -> list[str]:
    """What a run would see: images of each class in each split, and the values of attributes."""
    dataset = own_images(path, strict=strict)
    lines = []
    for split in ("train", "validation", "test"):
        part = dataset.load(root, split)
        if part is None:
            lines.append(f"{split}: none")
            continue
        counts = np.bincount(part.y, minlength=part.task.num_classes)
        classes = ", ".join(f"{name} {count}" for name, count in zip(part.task.classes, counts, strict=True))
        lines.append(f"{split}: {len(part)} images ({classes})")
        if split == "train":
            lines += [f"attribute {name}: {', '.join(a.values)}" for name, a in part.task.attributes.items()]
    return lines
