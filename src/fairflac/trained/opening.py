"""Any classifier by name: a run, a file of ours, a file of somebody else's, or a function that builds one."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from fairflac.errors import UserError
from fairflac.trained import from_factory
from fairflac.trained.from_onnx import open_onnx
from fairflac.trained.from_run import open_run
from fairflac.trained.from_torchscript import open_torchscript
from fairflac.trained.from_weights import open_safetensors, open_weights
from fairflac.trained.model import Trained

Kind = Literal["onnx", "safetensors", "torchscript", "weights"]


def open_model(
    name: str, *, net: str | None = None, size: int | None = None, classes: tuple[str, ...] | None = None
) -> Trained:
    """The classifier that `name` names, tried once on blank images.

    - a run directory
    - a file that `fairflac export` wrote, which says all that has to be known
    - another TorchScript or ONNX file, which takes normalised floats (N, 3, H, W); `size` where it fixes none
    - another file of weights, with `net` and `size`
    - `module:function`, which returns an nn.Module, with `size`

    Nothing pickled is ever run; code is run only where the user named it as `module:function`. `classes` are names for
    what the last layer puts out, if the file has none.
    """
    path = Path(name).expanduser()
    kind = kind_of(path) if path.is_file() else None
    if net is not None and kind not in ("safetensors", "weights"):
        raise UserError(f"--net {net} is for files of weights, and '{name}' is none: leave it out")
    if kind is not None:
        model = _open_file(path, kind, net, size)
    elif path.is_dir():
        model = open_run(path)
    elif from_factory.NAME.fullmatch(name):
        model = from_factory.open_factory(name, size)
    else:
        raise UserError(f"there is no '{name}': give a run directory, a model file, or module:function")
    return _proved(model, size, classes)


def kind_of(path: Path) -> Kind:
    """By what is inside, as far as that tells: both kinds of file that torch writes are called .pt."""
    with path.open("rb") as stream:
        start = stream.read(9)
    if start[:2] == b"PK" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return "torchscript" if any("/code/" in entry for entry in archive.namelist()) else "weights"
    if start[8:] == b"{" or path.suffix == ".safetensors":  # after eight bytes that give the length of a JSON header
        return "safetensors"
    return "onnx" if path.suffix == ".onnx" else "weights"


def _open_file(path: Path, kind: Kind, net: str | None, size: int | None) -> Trained:
    if kind == "safetensors":
        return open_safetensors(path, net, size)
    if kind == "weights":
        return open_weights(path, net, size)
    return open_onnx(path, size) if kind == "onnx" else open_torchscript(path, size)


def _proved(model: Trained, size: int | None, classes: tuple[str, ...] | None) -> Trained:
    """What the user says and what the model does must agree."""
    height, width = model.image_size
    if size not in (None, height) or size not in (None, width):
        raise UserError(f"'{model.source}' takes images of {height} x {width}: leave out --size {size}")
    try:
        shape = model.logits(np.zeros((2, height, width, 3), np.uint8)).shape
    except Exception as error:  # of a foreign graph, nearly anything
        reason = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        raise UserError(
            f"'{model.source}' cannot classify images of {height} x {width}: {reason.strip()[:200]}; check --size"
        ) from error
    if len(shape) != 2 or shape[0] != 2 or shape[1] < 2:
        raise UserError(f"'{model.source}' returns numbers of shape {shape} for two images: logits are (2, classes)")
    names = model.classes or classes
    if names is not None and len(names) != shape[1]:
        raise UserError(
            f"'{model.source}' tells {shape[1]} classes apart, and {len(names)} are named: name all of them"
        )
    if classes is not None and classes != names:
        raise UserError(f"'{model.source}' has classes of its own, {', '.join(names or ())}: leave out --classes")
    return replace(model, classes=names)
