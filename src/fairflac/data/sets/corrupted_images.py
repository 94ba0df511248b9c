"""The Corrupted-CIFAR10 construction: which corruption every image gets, and giving it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fairflac.errors import UserError
from fairflac.system.arrays import read_array, read_arrays
from fairflac.system.files import replacing
from fairflac.system.progress import meter

# The corruption that goes with class k, k = 0 … 9, in the two sets of Nam et al. (LfF, NeurIPS 2020).
TYPE0 = (
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "spatter",
    "elastic",
    "jpeg",
    "pixelate",
    "saturate",
)
TYPE1 = (
    "gaussian-noise",
    "shot-noise",
    "impulse-noise",
    "speckle-noise",
    "gaussian-blur",
    "defocus-blur",
    "glass-blur",
    "motion-blur",
    "zoom-blur",
    "original",
)
VALUES = 10
CHUNK = 500  # images that are corrupted at once


def assign_corruptions(y: NDArray[np.int64], q: float) -> NDArray[np.int64]:
    """Give every image one of ten corruptions; nothing is drawn.

    The images of a class, in the order they come in, are cut into ten runs for corruption 0 … 9: its own has a share q
    of the class, every other (1 - q) / 9. A run ends where the sum of the shares up to it, times the size of the class,
    rounds to.
    """
    corruptions = np.empty(len(y), dtype=np.int64)
    for label in range(VALUES):
        members = np.flatnonzero(y == label)
        shares = np.full(VALUES, (1 - q) / (VALUES - 1))
        shares[label] = q
        ends = np.round(len(members) * np.cumsum(shares))
        corruptions[members] = np.searchsorted(ends, np.arange(len(members)), side="right")
    return corruptions


def corrupt(
    images: NDArray[np.uint8],
    corruptions: NDArray[np.int64],
    names: Sequence[str],
    severity: int,
    key: Sequence[int],
    textures: Sequence[NDArray[np.uint8]] | None,
) -> NDArray[np.uint8]:
    """Image i gets corruption `names[corruptions[i]]`; all that is random in it follows from `key`."""
    from fairflac.data.sets.corruptions import CORRUPTIONS, frost  # with scipy slow to import, and only needed here

    corrupted = np.empty_like(images)
    with meter("corrupt", len(images)) as bar:
        for value, name in enumerate(names):
            bar.note(name)
            members = np.flatnonzero(corruptions == value)
            for number, start in enumerate(range(0, len(members), CHUNK)):
                chosen = members[start : start + CHUNK]
                rng = np.random.default_rng([*key, value, number])
                if name == "frost":
                    corrupted[chosen] = frost(images[chosen], severity, rng, textures)
                else:
                    corrupted[chosen] = CORRUPTIONS[name](images[chosen], severity, rng)
                bar.advance(len(chosen))
    return corrupted


class CorruptedSet(NamedTuple):
    """One split, with where it comes from."""

    images: NDArray[np.uint8]  # (N, 32, 32, 3)
    y: NDArray[np.int64]  # (N,)
    corruption: NDArray[np.int64]  # (N,)
    names: NDArray[np.str_]  # (N,)
    origin: str

    def chosen(self, index: NDArray[np.int64]) -> "CorruptedSet":
        return CorruptedSet(self.images[index], self.y[index], self.corruption[index], self.names[index], self.origin)

    def describe(self) -> str:
        conflicting = int((self.y != self.corruption).sum())
        return f"{len(self.y)} images, {conflicting} of them conflict with their corruption, {self.origin}"


def write_set(path: Path, content: CorruptedSet) -> None:
    with replacing(path) as stream:
        np.savez(stream, **content._asdict())


def read_set(path: Path) -> CorruptedSet:
    try:
        images, y, corruption, names, origin = read_arrays(path, *CorruptedSet._fields)
        if not len(images) == len(y) == len(corruption) == len(names):
            raise ValueError("its columns do not go together")
    except ValueError as error:
        raise UserError(f"'{path}' is damaged ({error}): delete it, and it is built again") from error
    return CorruptedSet(images, y, corruption, names, str(origin))


def origin_of(path: Path) -> str | None:
    """Where a stored set comes from, without reading its images; None if there is no such set, or a damaged one."""
    try:
        return str(read_arrays(path, "origin")[0])
    except ValueError:
        return None


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
