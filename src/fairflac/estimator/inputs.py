"""What X and the parameters may be: images, vectors or files, and the config of the run that they make."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image, ImageOps
from torch import nn

from fairflac.config.options import options_of
from fairflac.config.recipes import recipe_for
from fairflac.config.run_config import RunConfig, resolve
from fairflac.data.base import BiasedDataset
from fairflac.data.own import list_own
from fairflac.data.own.csv_file import TABLES, read_sheet
from fairflac.data.own.folder import folder_sheet
from fairflac.data.own.listing import FRAMING, MEAN, STD, attribute_codes
from fairflac.data.own.sheet import sheet_images
from fairflac.data.pixels.cache import read_images
from fairflac.errors import UserError, unknown
from fairflac.methods import METHODS
from fairflac.system.files import data_root, visible_files
from fairflac.training.build import load_split
from fairflac.types import Attribute, TaskSpec

InputKind = Literal["files", "images", "vectors"]
Size = tuple[int, int]


class WrongInput(UserError, ValueError):
    """An argument that does not fit, which scikit-learn expects to be a ValueError."""


def opened(x: Any) -> tuple[InputKind, Any]:
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
    codes, attribute = attribute_codes(given, y, num_classes)
    if len(attribute.values) < 2:
        raise WrongInput(f"attribute is {given[0]!r} in every row: a bias model can learn nothing from it")
    return {ATTRIBUTE: codes}, {ATTRIBUTE: attribute}


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
        return np.asarray(data.images), np.array(data.task.classes)[data.y]
    listing = list_own(path)
    return decoded([listing.folder / name for name in listing.names], size), np.array(listing.labels)


def files_of(where: Path | Sequence[Path]) -> list[Path]:
    """Image files in the order of their predictions: as given, as a table lists them, or sorted below a folder."""
    if not isinstance(where, Path):
        return list(where)
    if where.is_dir():
        sheet = folder_sheet(where)
        return sorted(filter(Path.is_file, visible_files(where))) if sheet is None else sheet_images(sheet)
    return sheet_images(read_sheet(where)) if where.suffix.lower() in TABLES else [where]


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


SMALL = 48  # pixels, below which ResNet-18 has next to nothing left in its last layers
OF_DIGITS = ("net", "strides", "channels", "lr", "schedule")  # what small images take from the recipe of digits,
OF_PAIRS = ("bias_output", "reduction")  # and what that leaves as the method has it
# Not for an estimator: it has no validation data, trains its bias model itself, and takes data as X.
REFUSED = ("selection", "bias_model", "bias_model.run", "other_bias_models", "path", "dataset", "target")


def net_settings(net: str | nn.Module, method: str, kind: InputKind, shape: tuple[int, ...] | None) -> dict[str, Any]:
    """The network and what goes with it; `shape` is of one sample, None for files."""
    if kind == "vectors":
        if isinstance(net, str) and net not in ("auto", "mlp"):
            raise WrongInput(f"net = '{net}' is for images: take 'auto', 'mlp' or a module of your own for vectors")
        assert shape is not None
        return {"net": "mlp", "inputs": shape[0]}
    if isinstance(net, nn.Module):
        return {}
    if net.startswith("timm:"):
        return {"net": "timm", "model": net.removeprefix("timm:")}
    if net != "auto":
        return {"net": net}
    if shape is None or min(shape[:2]) >= SMALL:
        return {}
    digits, options = recipe_for("biased-digits", "vanilla", {}), options_of(METHODS[method]).model_fields
    return {key: digits[key] for key in OF_DIGITS} | {key: options[key].default for key in OF_PAIRS if key in options}


def check_method(method: str, x: InputKind, *, taught: bool, given: bool) -> None:
    """Does the method suit X, and is what is known of the shortcut of use to it, and enough?"""
    if method not in METHODS:
        unknown("method", method, METHODS)
    kind = METHODS[method]
    if not kind.takes_vectors and x == "vectors":
        raise WrongInput(f"'{method}' needs images, and these are vectors: choose another method")
    if kind.uses_bias_labels and not taught and x != "files":  # a CSV file has them
        raise WrongInput(f"'{method}' trains with labels of the shortcut: give them to fit as attribute")
    if taught and given:
        raise WrongInput("attribute and bias_features both say what the shortcut is: give one of them")
    if given and not kind.needs_bias_model:
        raise WrongInput(f"'{method}' has no bias model: leave out bias_features")
    if given and (kind.asks_for_classes or kind.bias_model_method):
        raise WrongInput(f"'{method}' asks its bias model for classes, and bias_features are none: leave them out")
    if taught and not (kind.needs_bias_model or kind.uses_bias_labels):
        raise WrongInput(f"'{method}' has no use for the attribute: leave it out")
    if method == "flac" and not (taught or given):
        raise WrongInput("'flac' needs to be shown the shortcut: give attribute or bias_features, or take 'flac-b'")


def make_config(
    method: str, seed: int, kind: InputKind, given: Mapping[str, Any], extra: Mapping[str, Any] | None
) -> RunConfig:
    """`given`: settings by name, None where the recipe decides; `extra`: the user's, as `train` takes them."""
    for name in extra or {}:
        if name in REFUSED:
            raise WrongInput(f"settings: '{name}' cannot be set here")
    changes = {name: value for name, value in given.items() if value is not None} | dict(extra or {})
    folder = kind == "files" and Path(changes["path"]).is_dir()
    config = resolve("folder" if folder else "csv", method, seed, changes)
    if kind == "vectors" and (others := [net for net in _nets(config) if net != "mlp"]):
        raise WrongInput(f"'{method}' has {others[0]} as second network or bias model, which is for images only")
    return config


def with_given_features(config: RunConfig) -> RunConfig:
    """Pairs are found by the features that the user gave: nobody knows probabilities that go with them."""
    if "bias_output" not in config.method_options:
        return config
    return config.model_copy(update={"method_options": {**config.method_options, "bias_output": "features"}})


def with_user_module(config: RunConfig, module: nn.Module) -> RunConfig:
    """The recipe's network replaced by the user's, in the bias model too unless that has another."""
    name, replaced = f"module {type(module).__name__}", (config.net, config.net_options)
    if config.biased_net is not None:
        raise UserError(f"'{config.method}' trains a second network beside the first: take a net by name")

    def own(one: RunConfig) -> RunConfig:
        return one.model_copy(update={"net": name, "net_options": {}})

    stage = config.bias_model
    if stage is not None and (stage.net, stage.net_options) == replaced:
        config = config.model_copy(update={"bias_model": own(stage)})
    return own(config)


def _nets(config: RunConfig) -> list[str]:
    second = [] if config.biased_net is None else [config.biased_net.net]
    return [config.net, *second, *(_nets(config.bias_model) if config.bias_model else [])]
