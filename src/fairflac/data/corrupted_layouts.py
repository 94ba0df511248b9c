"""The two public layouts that ready-made Corrupted-CIFAR10 sets come in.

Arrays (LfF):      CorruptedCIFAR10-Type0-Skewed0.05-Severity4/{train,valid}/{images,attrs}.npy
Pictures (DisEnt): cifar10c/{0.5pct,1pct,2pct,5pct}/{align,conflict,valid}/<class>/…_<label>_<bias>.png, cifar10c/test/…
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from fairflac.arrays import read_array
from fairflac.data.corrupted_sets import CorruptedSet
from fairflac.data.corrupting import VALUES
from fairflac.errors import UserError
from fairflac.progress import meter

FOLDER = re.compile(r"CorruptedCIFAR10-Type(?P<type>[01])-Skewed(?P<skew>[\d.e-]+)-Severity(?P<severity>[1-4])")
PICTURE = re.compile(r".*_(?P<label>\d)_(?P<bias>\d)\.png")
PERCENT = {"0.5pct": 0.995, "1pct": 0.99, "2pct": 0.98, "5pct": 0.95}
READY_MADE = "ready-made"  # how the origin of these sets begins


def file_name(split: str, kind: int | str, severity: int, q: float | None = None) -> str:
    """The name that a set is stored under; test sets have no q, and of the archive the severity is not known."""
    words = [split, "archive"] if kind == "archive" else [split, f"type{kind}", f"severity{severity}"]
    return "-".join(words if q is None else [*words, f"q{q}"]) + ".npz"


def ready_made(folder: Path) -> Iterator[tuple[str, CorruptedSet]]:
    """All sets in the folder with the names to store them under; none if it has neither layout."""
    if not folder.is_dir():
        return
    for path in sorted([folder, *folder.iterdir()]):
        if found := FOLDER.fullmatch(path.name):
            # LfF's severity s applies CIFAR-C's level s + 1.
            kind, severity, q = int(found["type"]), int(found["severity"]) + 1, round(1 - float(found["skew"]), 6)
            yield file_name("train", kind, severity, q), _arrays(path / "train")
            # The valid parts of different skews differ in their random draws only; whichever comes last is kept.
            yield file_name("test", kind, severity), _arrays(path / "valid")
    for top in (folder, folder / "cifar10c"):
        percents = {name: q for name, q in PERCENT.items() if (top / name / "align").is_dir()}
        for name, q in percents.items():
            yield file_name("train", "archive", 0, q), _pictures(top / name, "align", "conflict")
            if (top / name / "valid").is_dir():
                yield file_name("validation", "archive", 0, q), _pictures(top / name, "valid")
        if percents:
            yield file_name("test", "archive", 0), _pictures(top, "test")


def _arrays(folder: Path) -> CorruptedSet:
    images, attributes = (_array(folder / name) for name in ("images.npy", "attrs.npy"))
    if images.dtype != np.uint8 or images.shape[1:] != (32, 32, 3):
        raise UserError(f"'{folder / 'images.npy'}' is {images.dtype} {images.shape}, not uint8 (N, 32, 32, 3)")
    if attributes.shape != (len(images), 2) or attributes.min() < 0 or attributes.max() >= VALUES:
        raise UserError(f"'{folder / 'attrs.npy'}' should hold a class and a corruption, 0-9, for each image")
    y, corruption = attributes.astype(np.int64).T
    names = np.array([f"{folder.name}/{number:05d}" for number in range(len(images))])
    return CorruptedSet(images, y, corruption, names, f"{READY_MADE} {folder.parent.name}")


def _array(path: Path) -> np.ndarray:
    if not path.is_file():
        raise UserError(f"'{path}' is missing: unpack the whole set")
    try:
        return read_array(path)
    except ValueError as error:
        raise UserError(f"'{path}' is damaged ({error}): unpack the set again") from error


def _pictures(top: Path, *parts: str) -> CorruptedSet:
    paths = sorted(path for part in parts for path in (top / part).rglob("[!.]*") if path.is_file())
    if not paths:
        raise UserError(f"'{top / parts[0]}' has no pictures: unpack the whole set")
    images, attributes = np.empty((len(paths), 32, 32, 3), np.uint8), np.empty((len(paths), 2), np.int64)
    with meter("read", len(paths)) as bar:
        for number, path in enumerate(paths):
            if not (named := PICTURE.fullmatch(path.name)):
                raise UserError(f"'{path}': its name should end with _LABEL_BIAS.png; remove it if it is no picture")
            images[number], attributes[number] = _picture(path), (int(named["label"]), int(named["bias"]))
            bar.advance()
    names = np.array([path.relative_to(top).as_posix() for path in paths])
    return CorruptedSet(images, attributes[:, 0], attributes[:, 1], names, f"{READY_MADE} {top.name}/{'+'.join(parts)}")


def _picture(path: Path) -> np.ndarray:
    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB"))
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error}): unpack the set again") from error
    if pixels.shape != (32, 32, 3):
        raise UserError(f"'{path}' is {pixels.shape[1]} x {pixels.shape[0]}, not 32 x 32")
    return pixels
