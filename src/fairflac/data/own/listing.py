"""A list of image files with labels, as folders and tables give it → splits."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from fairflac.data.base import BiasedDataset, Dataset, Split, stratified_split
from fairflac.data.pixels.cache import NAMED, Images, read_images
from fairflac.data.pixels.decode import Fit, Framing
from fairflac.data.pixels.live import Decode, stays_live
from fairflac.data.pixels.stored import rows_of
from fairflac.errors import UserError
from fairflac.system.progress import tell_once
from fairflac.types import Attribute, TaskSpec

Size = Annotated[int, Field(ge=8, le=1024)]
Share = Annotated[float, Field(ge=0, lt=1)]

# Of ImageNet, which photographs are normalised with everywhere.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FRAMING = Framing(margin=9 / 8)  # 72 pixels for 64

SPLITS: dict[str, Split] = {
    "train": "train", "training": "train",
    "val": "validation", "valid": "validation", "validation": "validation", "dev": "validation",
    "test": "test", "testing": "test",
}  # fmt: skip


@dataclass(frozen=True)
class Listing:
    """What is known of a set before an image is opened. All lists go together; names are relative to `folder`."""

    source: Path  # the folder or the table, as the user named it
    folder: Path
    names: Sequence[str]
    labels: Sequence[str]
    splits: Sequence[Split] | None = None  # None: there are none, we make them
    attributes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was found odd, in words
    label_column: str | None = None  # of a table; None: labels are the names of folders

    @property
    def identity(self) -> str:
        """Another one for other files, labels, splits or attributes, or another order of them."""
        columns = (self.names, self.labels, self.splits or (), *self.attributes.values())
        text = "\0\0".join("\0".join(column) for column in columns)
        return sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]

    def take(self, rows: Iterable[int]) -> "Listing":
        places = list(rows)
        return replace(
            self,
            names=[self.names[i] for i in places],
            labels=[self.labels[i] for i in places],
            splits=None if self.splits is None else [self.splits[i] for i in places],
            attributes={name: [column[i] for i in places] for name, column in self.attributes.items()},
        )

    def distinct(self) -> "Listing":
        """Each row once; one that repeats another in everything is no second image."""
        columns = [self.names, self.labels, self.splits or self.labels, *self.attributes.values()]
        first: dict[tuple[str, ...], int] = {}
        repeated: dict[str, str] = {}
        for i, row in enumerate(zip(*columns, strict=True)):
            if first.setdefault(row, i) != i:
                repeated[row[0]] = ""
        if not repeated:
            return self
        more = len(self.names) - len(first)
        rows = "1 row repeats an earlier one" if more == 1 else f"{more:,} rows repeat earlier ones"
        note = f"{rows}, and each image counts once: {_some(repeated)}"
        return replace(self.take(first.values()), notes=(*self.notes, note))


@dataclass(frozen=True)
class ReadOptions:
    """How a listing becomes images and splits."""

    size: int
    seed: int
    validation: float
    test: float
    cache: Path
    strict: bool = False
    decode: Decode | None = None

    def read(self, listing: Listing, warn: Callable[[str], None] = tell_once) -> "ReadListing":
        stored = FRAMING.stored((self.size, self.size))
        return read_listing(
            listing, stored, self.cache, fit=FRAMING.fit, strict=self.strict, decode=self.decode, warn=warn
        )


@dataclass(frozen=True)
class ReadListing:
    """The rows of a listing whose image can be read, and those images: one each, in the same order."""

    listing: Listing
    images: Images

    def __post_init__(self) -> None:
        assert len(self.listing.names) == len(self.images.pixels) == len(self.images.digests)


class OwnImages(Dataset):
    """A user's own images, which a child lists; all else that is known of them the user says."""

    attributes: ClassVar[tuple[str, ...] | None] = None
    framing = FRAMING
    size: int
    validation: float
    test: float
    strict: bool
    decode: Decode | None

    @abstractmethod
    def listing(self) -> Listing:
        """What there is, before an image is opened."""

    def reading(self, root: Path) -> ReadOptions:
        return ReadOptions(self.size, self.seed, self.validation, self.test, root / "cache", self.strict, self.decode)

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        return read_split(self.listing(), self.reading(root), split)


def checked_classes(listing: Listing) -> list[str]:
    """Sorted. What is wrong with them is said before any image is opened."""
    counts = Counter(dict(zip(zip(listing.names, listing.labels, strict=True), listing.labels, strict=True)).values())
    classes = sorted(counts)
    if len(classes) < 2:
        raise UserError(_too_few_classes(listing, classes))
    _check_counts(listing.source, counts, classes, "")
    if listing.splits is not None:
        pairs = zip(listing.labels, listing.splits, strict=True)
        _check_trained(listing.source, classes, {label for label, split in pairs if split == "train"})
    return classes


def _too_few_classes(listing: Listing, classes: list[str]) -> str:
    source = f"'{listing.source}'"
    if not classes:
        return f"{source} has no images: a classifier needs two classes or more"
    if (column := listing.label_column) is not None:
        return f"{source} lists only the class '{classes[0]}': a classifier needs two or more in the column '{column}'"
    below = {Path(name).parts[1] for name in listing.names if len(Path(name).parts) > 2}
    inner = (
        f"; if the classes are the folders in '{listing.folder / classes[0]}', give that one" if len(below) > 1 else ""
    )
    return f"{source} has only the class '{classes[0]}': a classifier needs two or more, a folder for each{inner}"


def read_listing(
    listing: Listing,
    size: tuple[int, int],
    cache: Path,
    *,
    fit: Fit,
    strict: bool,
    decode: Decode | None = None,
    warn: Callable[[str], None] = tell_once,
) -> ReadListing:
    """All images that can be read. What is odd about them is told, a line for each kind."""
    listing = listing.distinct()
    label, live = listing.source.name, stays_live(decode, len(listing.names), size)
    if live and decode is None:
        gigabytes = len(listing.names) * size[0] * size[1] * 3 / 1e9
        tell_once(
            f"{label}: {len(listing.names):,} images, {gigabytes:,.0f} GB of pixels, are decoded whenever they are "
            "needed; to keep them all instead, set decode=once"
        )
    images = read_images(
        listing.folder, listing.names, size, cache, fit=fit, strict=strict, live=live, label=label, warn=warn
    )
    if not len(images.kept):
        name, why = next(iter(images.broken.items()))
        relative = "" if listing.source == listing.folder else f"; paths are relative to '{listing.folder}'"
        raise UserError(
            f"none of the {len(listing.names)} images of '{listing.source}' can be read: '{name}' ({why}){relative}"
        )
    readable = listing.take(images.kept)
    for note in (*listing.notes, *_copies(readable, images.digests)):
        warn(f"'{listing.source}': {note}")
    return ReadListing(readable, images)


def _copies(listing: Listing, digests: np.ndarray) -> list[str]:
    """Images that have several labels, or are in several of the splits that the user made."""
    copies: dict[int, list[int]] = {}
    for row, digest in enumerate(digests.tolist()):
        copies.setdefault(digest, []).append(row)
    several = [rows for rows in copies.values() if len(rows) > 1]
    notes = []
    if found := _differing(listing.names, listing.labels, several):
        notes.append(f"{_images(len(found))} several labels, so every answer is wrong for one of them: {_some(found)}")
    if found := _differing(listing.names, listing.splits or (), several):
        notes.append(
            f"{_images(len(found))} copies in another split, so results look better than they are: {_some(found)}"
        )
    return notes


def _differing(names: Sequence[str], column: Sequence[str], several: list[list[int]]) -> dict[str, str]:
    """Of groups of rows those with more than one value: the first name, and every value with the name that has it."""
    found = {}
    for rows in several if column else ():
        holder: dict[str, str] = {}
        for row in rows:
            holder.setdefault(column[row], names[row])
        (value, name), *others = holder.items()
        if others:
            also = (f"also {other}" + (f" as '{copy}'" if copy != name else "") for other, copy in others)
            found[name] = f"{value}, {', '.join(also)}"
    return found


def _images(count: int) -> str:
    return "1 image has" if count == 1 else f"{count:,} images have"


def _some(found: Mapping[str, str]) -> str:
    """A few by name, with what is said of them."""
    shown = [f"'{name}'" + (f" ({said})" if said else "") for name, said in list(found.items())[:NAMED]]
    return ", ".join(shown) + (f" and {len(found) - NAMED:,} more" if len(found) > NAMED else "")


def read_split(listing: Listing, reading: ReadOptions, split: Split) -> BiasedDataset | None:
    """One split; None when there is no validation split."""
    classes = checked_classes(listing)
    return split_of(reading.read(listing), classes, reading, split)


def split_of(read: ReadListing, classes: list[str], reading: ReadOptions, split: Split) -> BiasedDataset | None:
    listing, images = read.listing, read.images
    y = np.searchsorted(classes, np.array(listing.labels))
    _check_counts(listing.source, Counter(listing.labels), classes, "readable ")
    cut = split_places(listing, reading, images.digests, y)
    _check_trained(listing.source, classes, {classes[number] for number in y[cut["train"]]})
    if len(cut["test"]) == 0:
        raise UserError(f"'{listing.source}' leaves no image to test on: add images, or raise the share 'test'")
    rows = cut[split]
    if len(rows) == 0 and split == "validation":
        return None
    bias, attributes = _attributes(listing, y, cut["train"], len(classes))
    size = (reading.size, reading.size)
    return BiasedDataset(
        images=rows_of(images.pixels, rows),
        y=y[rows],
        bias={name: values[rows] for name, values in bias.items()},
        names=np.array(listing.names)[rows],
        split=split,
        task=TaskSpec(classes=tuple(classes), attributes=attributes, image_size=size, mean=MEAN, std=STD),
    )


def _check_counts(source: Path, counts: Counter[str], classes: list[str], kind: str) -> None:
    for label in classes:
        if counts[label] < 2:
            raise UserError(
                f"class '{label}' in '{source}' has {counts[label]} {kind}image(s): add some, or remove the class"
            )


def _check_trained(source: Path, classes: list[str], trained: set[str]) -> None:
    for label in classes:
        if label not in trained:
            raise UserError(
                f"class '{label}' in '{source}' has no image to train on, only in other splits: "
                "move some to train, or remove the class"
            )


def split_places(listing: Listing, reading: ReadOptions, digests: np.ndarray, y: np.ndarray) -> dict[Split, np.ndarray]:
    """Positions of each split among the images that could be read; what the set does not say is cut from train."""
    if listing.splits is None:
        return stratified_split(digests, y, reading.seed, reading.validation, reading.test)
    own = np.array(listing.splits)
    train = np.flatnonzero(own == "train")
    has = {name: np.any(own == name) for name in ("validation", "test")}
    shares = (0.0 if has["validation"] else reading.validation, 0.0 if has["test"] else reading.test)
    cut = stratified_split(digests[train], y[train], reading.seed, *shares)
    return {
        "train": train[cut["train"]],
        "validation": np.flatnonzero(own == "validation") if has["validation"] else train[cut["validation"]],
        "test": np.flatnonzero(own == "test") if has["test"] else train[cut["test"]],
    }


def _attributes(
    listing: Listing, y: np.ndarray, train: np.ndarray, num_classes: int
) -> tuple[dict[str, np.ndarray], dict[str, Attribute]]:
    """Codes of each attribute, and which value goes with each class in the training images."""
    bias, attributes = {}, {}
    for name, column in listing.attributes.items():
        bias[name], attributes[name] = attribute_codes(np.array(column), y, num_classes, train)
    return bias, attributes


def attribute_codes(
    values: np.ndarray, y: np.ndarray, num_classes: int, train: np.ndarray | slice = slice(None)
) -> tuple[np.ndarray, Attribute]:
    """(N,) values as numbers from 0, and what they mean; which value goes with a class is told by `train` alone."""
    names, codes = np.unique(values, return_inverse=True)
    aligned = aligned_values(y[train], codes[train], num_classes, len(names))
    return codes.astype(np.int64), Attribute(tuple(map(str, names)), aligned)


def aligned_values(y: np.ndarray, codes: np.ndarray, num_classes: int, num_values: int) -> tuple[int, ...]:
    """For each class the value of an attribute that goes with it: the one it has more often than others have."""
    counts = np.zeros((num_classes, num_values))
    np.add.at(counts, (y, codes), 1)
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)  # a class without images has no share of anything
    return tuple(int(value) for value in (share - counts.sum(0) / counts.sum()).argmax(1))
