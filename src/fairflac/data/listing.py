"""A list of image files with labels, as folders and tables give it → splits."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fairflac.data.base import BiasedDataset, Split
from fairflac.data.cache import read_images
from fairflac.data.decode import Framing
from fairflac.data.splitting import split_by_content
from fairflac.errors import UserError
from fairflac.types import Attribute, TaskSpec

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

    folder: Path
    names: Sequence[str]
    labels: Sequence[str]
    splits: Sequence[Split] | None = None  # None: there are none, we make them
    attributes: dict[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """How a listing becomes images."""

    size: int
    seed: int
    validation: float
    test: float
    cache: Path
    strict: bool = False


def read_split(listing: Listing, reading: Reading, split: Split) -> BiasedDataset | None:
    """One split; None when there is no validation split."""
    classes = sorted(set(listing.labels))
    if len(classes) < 2:
        found = f"only the class '{classes[0]}'" if classes else "no images"
        raise UserError(f"'{listing.folder}' has {found}: a classifier needs two classes or more, a folder for each")
    size = (reading.size, reading.size)
    images = read_images(
        listing.folder, listing.names, FRAMING.stored(size), reading.cache, fit=FRAMING.fit, strict=reading.strict,
        label=listing.folder.name,
    )  # fmt: skip
    labels = np.array(listing.labels)[images.kept]
    y = np.searchsorted(classes, labels)
    _check_counts(listing.folder, Counter(labels.tolist()), classes)
    places = _places(listing, reading, images.kept, images.digests, y)
    _check_classes(listing.folder, classes, y, places)
    rows = places[split]
    if len(rows) == 0 and split == "validation":
        return None
    bias, attributes = _attributes(listing, images.kept, y, places["train"], len(classes))
    return BiasedDataset(
        images=images.pixels[rows],
        y=y[rows],
        bias={name: values[rows] for name, values in bias.items()},
        names=np.array(listing.names)[images.kept][rows],
        split=split,
        task=TaskSpec(classes=tuple(classes), attributes=attributes, image_size=size, mean=MEAN, std=STD),
    )


def _check_counts(folder: Path, counts: Counter[str], classes: list[str]) -> None:
    for label in classes:
        if counts[label] < 2:
            raise UserError(
                f"class '{label}' in '{folder}' has {counts[label]} readable image(s): add some, or remove the class"
            )


def _check_classes(folder: Path, classes: list[str], y: np.ndarray, places: dict[Split, np.ndarray]) -> None:
    for number, label in enumerate(classes):
        if number not in y[places["train"]]:
            raise UserError(
                f"class '{label}' in '{folder}' has no image to train on, only in other splits: "
                "move some to train, or remove the class"
            )
    if len(places["test"]) == 0:
        raise UserError(f"'{folder}' leaves no image to test on: add images, or raise the share 'test'")


def _places(
    listing: Listing, reading: Reading, kept: np.ndarray, digests: np.ndarray, y: np.ndarray
) -> dict[Split, np.ndarray]:
    """Positions of each split among the images that could be read; what the set does not say is cut from train."""
    if listing.splits is None:
        return split_by_content(digests, y, reading.seed, reading.validation, reading.test)
    own = np.array(listing.splits)[kept]
    train = np.flatnonzero(own == "train")
    has = {name: np.any(own == name) for name in ("validation", "test")}
    shares = (0.0 if has["validation"] else reading.validation, 0.0 if has["test"] else reading.test)
    cut = split_by_content(digests[train], y[train], reading.seed, *shares)
    return {
        "train": train[cut["train"]],
        "validation": np.flatnonzero(own == "validation") if has["validation"] else train[cut["validation"]],
        "test": np.flatnonzero(own == "test") if has["test"] else train[cut["test"]],
    }


def _attributes(
    listing: Listing, kept: np.ndarray, y: np.ndarray, train: np.ndarray, num_classes: int
) -> tuple[dict[str, np.ndarray], dict[str, Attribute]]:
    """Codes of each attribute, and which value goes with each class in the training images."""
    bias, attributes = {}, {}
    for name, column in listing.attributes.items():
        values, codes = np.unique(np.array(column)[kept], return_inverse=True)
        bias[name] = codes.astype(np.int64)
        aligned = aligned_values(y[train], codes[train], num_classes, len(values))
        attributes[name] = Attribute(tuple(map(str, values)), aligned)
    return bias, attributes


def aligned_values(y: np.ndarray, codes: np.ndarray, num_classes: int, num_values: int) -> tuple[int, ...]:
    """For each class the value of an attribute that goes with it: the one it has more often than others have."""
    counts = np.zeros((num_classes, num_values))
    np.add.at(counts, (y, codes), 1)
    share = counts / np.maximum(counts.sum(1, keepdims=True), 1)  # a class without images has no share of anything
    return tuple(int(value) for value in (share - counts.sum(0) / counts.sum()).argmax(1))
