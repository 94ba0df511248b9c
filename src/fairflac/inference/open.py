"""Any classifier by name: a run, a file of ours, a file of somebody else's, or a function that builds one."""

import importlib
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import safe_open
from torch import nn

from fairflac.config.options import checked, options_of, parse_assignments
from fairflac.errors import UserError, unknown
from fairflac.inference.model import (
    KEY,
    LARGEST_SIDE,
    Classifier,
    ModelMetadata,
    as_array,
    foreign_task,
    normalised,
    square,
    torch_features,
    torch_logits,
)
from fairflac.methods.base import Method
from fairflac.nets import NETS
from fairflac.nets.adapted import with_features
from fairflac.nets.weights import does_not_fit, read_state
from fairflac.runs.directory import Run
from fairflac.system.hardware import best_device
from fairflac.training.build import build_method, load_method

FileKind = Literal["onnx", "safetensors", "torchscript", "weights"]


def open_model(
    name: str | Path, *, net: str | None = None, size: int | None = None, classes: Sequence[str] | None = None
) -> Classifier:
    """Open a trained classifier, whatever it was made with, and try it once on blank images.

    It can be

    - a run directory
    - a file that `fairflac export` wrote, which says all that has to be known
    - another TorchScript or ONNX file, which takes normalised floats (N, 3, H, W); `size` where it fixes none
    - another file of weights, with `net` and `size`; also a checkpoint of the authors' code or of VB-Mitigator
    - `module:function`, which returns an nn.Module, with `size`

    Nothing pickled is ever run; code is run only where the user named it as `module:function`.

    Args:
        name: one of these.
        net: the network of a weight file, for example `resnet18`.
        size: pixels of a side, where the model does not say.
        classes: names for what the last layer puts out, if the file has none.

    Returns:
        A model that takes uint8 images (B, H, W, 3) and gives logits (B, C).

    Example:
        >>> model = fairflac.open_model("photos-debiased/model.safetensors")  # doctest: +SKIP
        >>> model.classes  # doctest: +SKIP
        ('cat', 'dog')
    """
    name = str(name)
    path = Path(name).expanduser()
    kind = kind_of(path) if path.is_file() else None
    if net is not None and kind not in ("safetensors", "weights"):
        raise UserError(f"net {net} is for files of weights, and '{name}' is none: leave it out")
    if kind is not None:
        model = _open_file(path, kind, net, size)
    elif path.is_dir():
        model = open_run(path)
    elif NAME.fullmatch(name):
        model = open_factory(name, size)
    else:
        raise UserError(f"there is no '{name}': give a run directory, a model file, or module:function")
    return _proved(model, size, None if classes is None else tuple(classes))


def kind_of(path: Path) -> FileKind:
    """By what is inside, as far as that tells: both kinds of file that torch writes are called .pt."""
    with path.open("rb") as stream:
        start = stream.read(9)
    if start[:2] == b"PK":
        return "torchscript" if any("/code/" in name for name in _members(path)) else "weights"
    if start[8:] == b"{" or path.suffix == ".safetensors":  # after eight bytes that give the length of a JSON header
        return "safetensors"
    return "onnx" if path.suffix == ".onnx" else "weights"


def _members(path: Path) -> list[str]:
    """The names in an archive; none, if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return []


def _open_file(path: Path, kind: FileKind, net: str | None, size: int | None) -> Classifier:
    if kind == "safetensors":
        return open_safetensors(path, net, size)
    if kind == "weights":
        return open_weights(path, net, size)
    return open_onnx(path, size) if kind == "onnx" else open_torchscript(path, size)


def _proved(model: Classifier, size: int | None, classes: tuple[str, ...] | None) -> Classifier:
    """What the user says and what the model does must agree."""
    height, width = model.image_size
    if size not in (None, height) or size not in (None, width):
        raise UserError(f"'{model.source}' takes images of {height} x {width}: leave out size {size}")
    if min(*model.image_size, *model.decoded_size) < 1 or max(*model.image_size, *model.decoded_size) > LARGEST_SIDE:
        raise UserError(f"'{model.source}' asks for images of {height} x {width}: sides are from 1 to {LARGEST_SIDE}")
    try:
        shape = model.logits(np.zeros((2, height, width, 3), np.uint8)).shape
    except Exception as error:  # of a foreign graph, nearly anything
        reason = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        raise UserError(
            f"'{model.source}' cannot classify images of {height} x {width}: {reason.strip()[:200]}; check size"
        ) from error
    if len(shape) != 2 or shape[0] != 2 or shape[1] < 2:
        raise UserError(f"'{model.source}' returns numbers of shape {shape} for two images: logits are (2, classes)")
    names = model.classes or classes
    if names is not None and len(names) != shape[1]:
        raise UserError(
            f"'{model.source}' tells {shape[1]} classes apart, and {len(names)} are named: name all of them"
        )
    if classes is not None and classes != names:
        raise UserError(f"'{model.source}' has classes of its own, {', '.join(names or ())}: leave out classes")
    return replace(model, classes=names)


def open_run(path: Path) -> Classifier:
    method = load_method(run := Run.finished(path))
    return classifier_of(method, ModelMetadata.of(run, method.spec), str(run.path))


def open_exported_weights(state: dict[str, torch.Tensor], metadata: ModelMetadata, path: Path) -> Classifier:
    try:
        method = build_method(metadata.config, metadata.task)
        weights_of(method).load_state_dict(state)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"the weights in '{path}' are not those of the network it names: export it again") from error
    return classifier_of(method, metadata, str(path))


def weights_of(method: Method) -> torch.nn.Module:
    """All that prediction needs: the network alone, unless the method has its own way to predict."""
    return method.net if type(method).predict is Method.predict else method


def classifier_of(method: Method, metadata: ModelMetadata, source: str, device_name: str | None = None) -> Classifier:
    device = torch.device(device_name or best_device())
    predict = method.to(device).eval().predict
    logits = torch_logits(predict, metadata.task, device)
    features = torch_features(method.net, metadata.task, device)
    return Classifier(
        source, logits, metadata.image_size, metadata.decoded_size, metadata.classes, metadata.fit, features
    )


def open_safetensors(path: Path, net: str | None, size: int | None) -> Classifier:
    """A file of ours names its network; of any other the user has to."""
    try:
        with safe_open(path, "pt") as file:
            note = (file.metadata() or {}).get(KEY)
            state = {name: file.get_tensor(name) for name in file.keys()} if note else {}  # noqa: SIM118 (no mapping)
    except Exception as error:
        raise UserError(f"'{path}' is no safetensors file, or a damaged one: fetch or export it again") from error
    if not note:
        return open_weights(path, net, size)
    if net is not None:
        raise UserError(f"'{path}' names its network itself: leave out net {net}")
    return open_exported_weights(state, ModelMetadata.read(note, path), path)


def open_weights(path: Path, net: str | None, size: int | None) -> Classifier:
    """Weights of one of `NETS`, which `net` names, with its options if it has some: `resnet18 stem=cifar`."""
    if net is None:
        raise UserError(
            f"'{path}' holds no network, at most the weights of one: name it with net, for example resnet18; "
            "of a run, give the directory instead of a file in it"
        )
    name, *pairs = net.split() or [""]
    if name not in NETS:
        unknown("net", name, NETS)
    if not all("=" in pair for pair in pairs):
        raise UserError(f"net '{net}': options are KEY=VALUE, for example 'resnet18 stem=cifar'")
    network: Any = NETS[name]
    options = checked(options_of(network), parse_assignments(pairs), f"net {name}")
    state = read_state(path, network.__name__)
    try:
        built = network(len(state["fc.weight"]), **dict(options))
        built.load_state_dict(state)
    except (KeyError, TypeError, RuntimeError) as error:
        raise does_not_fit(path, network.__name__) from error
    task, device = foreign_task(square(size, str(path))), torch.device(best_device())
    logits = torch_logits(built.to(device).eval(), task, device)
    features = torch_features(built, task, device)
    return Classifier(str(path), logits, task.image_size, task.image_size, None, features=features)


NOTE = f"{KEY}.json"  # the file inside the archive that holds the metadata


def open_torchscript(path: Path, size: int | None) -> Classifier:
    """A file of ours takes pixels and knows its classes; any other takes normalised floats (B, 3, H, W).

    `torch.jit.load` runs what TorchScript can express, which is arithmetic on tensors: no Python object in the file is
    unpickled into anything else.
    """
    note = {NOTE: ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the format is, and people have such files
            module = torch.jit.load(path, map_location="cpu", _extra_files=note).eval()
    except Exception as error:  # the reader raises nearly anything on damaged files
        raise UserError(f"'{path}' is damaged: it begins as a TorchScript file and cannot be opened") from error
    if not note[NOTE]:
        task = foreign_task(square(size, str(path)))
        logits = torch_logits(module, task, torch.device("cpu"))
        return Classifier(str(path), logits, task.image_size, task.image_size, None)
    metadata = ModelMetadata.read(note[NOTE], path)

    def from_pixels(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return as_array(module(torch.tensor(images)))

    return Classifier(
        str(path), from_pixels, metadata.image_size, metadata.decoded_size, metadata.classes, metadata.fit
    )


def open_onnx(path: Path, size: int | None) -> Classifier:
    """A file of ours takes pixels and knows its classes; any other takes normalised floats (B, 3, H, W)."""
    session = _session(path)
    note = session.get_modelmeta().custom_metadata_map.get(KEY)
    if note is not None:
        metadata = ModelMetadata.read(note, path)
        run = _runner(session, batch=None)
        return Classifier(str(path), run, metadata.image_size, metadata.decoded_size, metadata.classes, metadata.fit)
    batch, fixed = _shape(session, path)
    task = foreign_task(fixed or square(size, str(path)))
    run = _runner(session, batch)
    cpu = torch.device("cpu")

    def logits(images: np.ndarray) -> np.ndarray:
        return run(normalised(images, task, cpu).contiguous().numpy())

    return Classifier(str(path), logits, task.image_size, task.image_size, None)


def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise UserError('ONNX files are opened with onnxruntime: pip install "fairflac[onnx]"') from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # its errors are raised as well; beside that it would print them, in colours
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise UserError(f"onnxruntime cannot open '{path}': {_first_line(error)}") from error


def _shape(session: Any, path: Path) -> tuple[int | None, tuple[int, int] | None]:
    """Size of the batch and of the images, where the graph fixes them."""
    inputs = session.get_inputs()
    what = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs)
    wanted = f"'{path}' does not take one batch of images, float (N, 3, H, W), but {what}: export it with such an input"
    if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 4:
        raise UserError(wanted)
    batch, channels, height, width = (one if isinstance(one, int) else None for one in inputs[0].shape)
    if channels not in (3, None):
        raise UserError(wanted)
    return batch, (height, width) if height and width else None


def _runner(session: Any, batch: int | None) -> Callable[[np.ndarray], np.ndarray]:
    """From inputs to the output called logits, or the first one; a graph with a fixed batch gets parts of that size."""
    outputs = [one.name for one in session.get_outputs()]
    output, name = ("logits" if "logits" in outputs else outputs[0]), session.get_inputs()[0].name

    def run(x: np.ndarray) -> np.ndarray:
        step = batch or max(len(x), 1)
        parts = []
        for start in range(0, len(x), step):
            part = x[start : start + step]
            missing = step - len(part) if batch else 0
            filled = np.concatenate([part, np.zeros((missing, *x.shape[1:]), x.dtype)])
            parts.append(np.asarray(session.run([output], {name: filled})[0])[: len(part)])
        return np.concatenate(parts).astype(np.float32)

    return run


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def open_factory(name: str, size: int | None) -> Classifier:
    """What `module:function` returns, an nn.Module that takes normalised floats (B, 3, H, W).

    The module is Python code and is run, because the user typed its name; it may lie in the current folder.
    """
    where, _, attribute = name.partition(":")
    factory = _find(where, attribute)
    try:
        module = factory()
    except Exception as error:
        raise UserError(f"{name}() failed with {type(error).__name__}: {error}") from error
    if not isinstance(module, nn.Module):
        raise UserError(f"{name}() returned {type(module).__name__}: it must return a torch.nn.Module")
    task, device = foreign_task(square(size, name)), torch.device(best_device())
    net = with_features(module.to(device).eval(), torch.zeros(2, 3, *task.image_size))
    features = None if net is None else torch_features(net.eval(), task, device)
    logits = torch_logits(module, task, device)
    return Classifier(name, logits, task.image_size, task.image_size, None, features=features)


def _find(where: str, attribute: str) -> Any:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name and where.startswith(error.name):
            raise UserError(f"there is no module '{where}' to import, in this folder or installed") from None
        raise UserError(f"'{where}' cannot be imported: it needs '{error.name}', which is not installed") from error
    except Exception as error:
        raise UserError(f"'{where}' cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UserError(f"'{where}' has no function '{attribute}' that returns a model")
    return found
