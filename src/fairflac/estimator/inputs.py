"""What X may be: images or vectors as an array or a .npy file, or image files."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageOps

from fairflac.config.run_config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.own.csv_file import list_table
from fairflac.data.own.folder import list_folder
from fairflac.data.own.listing import FRAMING, MEAN, STD, aligned_values
from fairflac.data.pixels.cache import read_images
from fairflac.errors import UserError
from fairflac.system.files import data_root
from fairflac.training.build import load_split
from fairflac.types import Attribute, TaskSpec

Kind = Literal["files", "images", "vectors"]
Size = tuple[int, int]


class WrongInput(UserError, ValueError):
    """An argument that does not fit, which scikit-learn expects to be a ValueError."""


def opened(x: Any) -> tuple[Kind, Any]:
    """X and what it is; a .npy file is what is in it."""
    if isinstance(x, str | Path):
        path = Path(x).expanduser()
        if path.suffix != ".npy":
            return "files", path
        x = _loaded(path)
    if isinstance(x, list | tuple) and x and all(isinstance(one, str | Path) for one in x):
        return "files", [Path(one).expanduser() for one in x]
    array = x if hasattr(x, "ndim") else None  # lists of numbers are for scikit-learn to judge
    if array is None or array.ndim < 3:
        return "vectors", x
    return "images", _as_rgb(np.asarray(array))


def resized(images: np.ndarray, size: Size) -> np.ndarray:
    """The largest centred part with the right proportions, as image files are read."""
    if images.shape[1:3] == size:
        return np.ascontiguousarray(images)
    shape = (size[1], size[0])
    fitted = (ImageOps.fit(Image.fromarray(image), shape, Image.Resampling.BILINEAR) for image in images)
    return np.stack([np.asarray(image) for image in fitted])


def _loaded(path: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise WrongInput(f"there is no file '{path}': check the path") from None
    except (OSError, ValueError, EOFError) as error:
        raise WrongInput(f"'{path}' is not an array that np.save wrote: {error}") from error
    return array


def _as_rgb(images: np.ndarray) -> np.ndarray:
    shaped = images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
    if images.dtype != np.uint8 or not shaped or 0 in images.shape:
        raise WrongInput(
            f"X of shape {images.shape} and type {images.dtype} is none of: uint8 images (N, H, W, 3) or (N, H, W), "
            "numbers (N, D), a folder or CSV file of images, a .npy file"
        )
    return images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)


ATTRIBUTE = "attribute"  # what labels given beside the classes are called


def labelled(x: np.ndarray, y: np.ndarray, attribute: Any = None) -> tuple[BiasedDataset, np.ndarray]:
    """All rows as a training set, and the classes in the order of their numbers."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise WrongInput(f"y has only one class, {classes[0]!r}: a classifier needs two or more")
    bias, attributes = _attribute(attribute, codes, len(classes))
    size = (x.shape[1], x.shape[2]) if x.ndim == 4 else (1, x.shape[1])
    task = TaskSpec(tuple(map(str, classes)), attributes, size, MEAN, STD)
    return BiasedDataset(_writable(x), codes.astype(np.int64), bias, _names(len(x)), "train", task), classes


def unlabelled(x: np.ndarray, task: TaskSpec) -> BiasedDataset:
    return BiasedDataset(_writable(x), np.zeros(len(x), dtype=np.int64), {}, _names(len(x)), "test", task)


def _attribute(values: Any, y: np.ndarray, num_classes: int) -> tuple[dict[str, np.ndarray], dict[str, Attribute]]:
    if values is None:
        return {}, {}
    given = np.asarray(values)
    if given.shape != y.shape:
        raise WrongInput(f"attribute has shape {given.shape} and y {y.shape}: give one value for each row")
    names, codes = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise WrongInput(f"attribute is {names[0]!r} in every row: a bias model can learn nothing from it")
    aligned = aligned_values(y, codes, num_classes, len(names))
    return {ATTRIBUTE: codes.astype(np.int64)}, {ATTRIBUTE: Attribute(tuple(map(str, names)), aligned)}


def _names(count: int) -> np.ndarray:
    return np.arange(count).astype(str)


def _writable(x: np.ndarray) -> np.ndarray:
    """Nobody writes to it, but torch takes no other."""
    return x if x.flags.writeable else x.copy()


def labelled_files(path: Path, config: RunConfig | None, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of a folder or CSV file: its test part if `config` was trained on the rest, else all of it."""
    if config is not None and path.resolve() == Path(config.data_options["path"]).expanduser().resolve():
        data = load_split(config, data_root(), "test")
        assert data is not None
        return data.images, np.array(data.task.classes)[data.y]
    listing = list_folder(path) if path.is_dir() else list_table(path)
    return decoded([listing.folder / name for name in listing.names], size), np.array(listing.labels)


def files_of(where: Path | Sequence[Path]) -> list[Path]:
    """Image files in the order of their predictions: as given, as listed in a CSV file, or sorted below a folder."""
    if not isinstance(where, Path):
        return list(where)
    if where.is_dir():
        below = sorted(path for path in where.rglob("*") if path.is_file())
        return [path for path in below if not any(part[0] == "." for part in path.relative_to(where).parts)]
    if where.suffix.lower() == ".csv":
        listing = list_table(where)
        return [listing.folder / name for name in listing.names]
    return [where]


def decoded(files: Sequence[Path], size: Size) -> np.ndarray:
    """(N, H, W, 3) uint8. Every row needs its prediction, so one file that cannot be read is an error."""
    if not files:
        raise WrongInput("there are no image files to predict: check the folder")
    with tempfile.TemporaryDirectory() as cache:
        names = [str(file) for file in files]
        images = read_images(Path(), names, size, Path(cache), fit=FRAMING.fit, silent=True)
        if images.broken:
            name, why = next(iter(images.broken.items()))
            raise WrongInput(f"{len(images.broken)} of {len(files)} files cannot be read as images: '{name}' ({why})")
        return np.array(images.pixels)
