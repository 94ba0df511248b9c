"""Image files as arrays: those to predict, and those with labels to be judged by."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairflac.build import load_split
from fairflac.config import RunConfig
from fairflac.data.cache import read_images
from fairflac.data.folder import list_folder
from fairflac.data.listing import FRAMING
from fairflac.data.table import list_table
from fairflac.data_root import data_root
from fairflac.estimator.inputs import Size, WrongInput


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
