"""Tiny pictures that stand for faces: each name gives its own picture."""

import zlib
from collections.abc import Iterable
from pathlib import Path

from PIL import Image


def draw(path: Path, like: str | None = None, size: tuple[int, int] = (12, 12)) -> None:
    """A plain picture whose colour follows from the name, or from the name it shall be a copy of."""
    path.parent.mkdir(parents=True, exist_ok=True)
    colour = zlib.crc32((like or path.name).encode()).to_bytes(4, "big")
    Image.new("RGB", size, (colour[0], colour[1], colour[2])).save(path, comment=like or path.name)


def draw_all(folder: Path, names: Iterable[str]) -> Path:
    for name in names:
        draw(folder / name)
    return folder
