"""Nine classes of animals made of 42 synsets of ImageNet, found by id and never by their place among the folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

SYNSETS: dict[str, tuple[str, ...]] = {
    "dog": ("n02085620", "n02099601", "n02106550", "n02106662", "n02110958"),
    "cat": ("n02123045", "n02123159", "n02123394", "n02123597", "n02124075"),
    "frog": ("n01641577", "n01644373", "n01644900"),
    "turtle": ("n01664065", "n01665541", "n01667114", "n01667778", "n01669191"),
    "bird": ("n01819313", "n01820546", "n01833805", "n01843383", "n01847000"),
    "monkey": ("n02486410", "n02487347", "n02488291", "n02488702", "n02492035"),
    "fish": ("n02607072", "n02640242", "n02641379", "n02643566", "n02655020"),
    "crab": ("n01978287", "n01978455", "n01980166", "n01981276"),
    "insect": ("n02174001", "n02177972", "n02190166", "n02206856", "n02219486"),
}
CLASSES = tuple(SYNSETS)
CLASS_OF = {synset: name for name, synsets in SYNSETS.items() for synset in synsets}
ALL = tuple(sorted(CLASS_OF))
SUFFIXES = (".jpeg", ".jpg", ".png")


@dataclass(frozen=True)
class SynsetFiles:
    """The images of the table under one folder."""

    names: tuple[str, ...]  # `synset/file`, sorted
    y: np.ndarray  # (N,) int64
    absent: tuple[str, ...]  # synsets without a folder, or without an image in it

    @property
    def absent_classes(self) -> tuple[str, ...]:
        """Those with no image at all."""
        return tuple(name for name in CLASSES if set(SYNSETS[name]) <= set(self.absent))


def list_synsets(folder: Path) -> SynsetFiles:
    """What is there of the 42; other synsets and files that are no images are passed over."""
    files = {synset: _images(folder / synset) for synset in ALL}
    names = tuple(f"{synset}/{file}" for synset, found in files.items() for file in found)
    y = np.array([CLASSES.index(class_of(name)) for name in names], dtype=np.int64)
    return SynsetFiles(names, y, tuple(synset for synset, found in files.items() if not found))


def class_of(name: str) -> str:
    """`n01641577/….JPEG` → `frog`."""
    return CLASS_OF[name.partition("/")[0]]


def first_damaged(folder: Path, names: Sequence[str]) -> str | None:
    """The first file that does not even begin like an image; reading the beginnings takes seconds, not minutes."""
    for name in names:
        try:
            Image.open(folder / name).close()
        except (OSError, ValueError, Image.DecompressionBombError):
            return name
    return None


def _images(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    entries = (entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return sorted(name for name in entries if name.lower().endswith(SUFFIXES))
