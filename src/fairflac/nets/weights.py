"""Weights from a file into a network."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.system.checkpoint import read_tensors

# torchvision's files of ImageNet weights, by network. The last part of a name is how the file's sha256 begins.
PUBLISHED = {"ResNet18": "resnet18-f37072fd.pth", "VGG16": "vgg16-397923af.pth"}

IMAGENET = "imagenet"  # as a setting, `weights = "imagenet"`: the file that `fairflac data get imagenet-weights` keeps
# Networks that have one, and whose. BagNet-18 has none: its authors published weights of larger networks only.
WITH_IMAGENET_WEIGHTS = {"resnet18": "resnet18", "frozen-resnet18": "resnet18"}


def imagenet_file(root: Path, net: str = "resnet18") -> Path:
    """Where the ImageNet weights of a network are kept, below the folder of datasets."""
    if net not in WITH_IMAGENET_WEIGHTS:
        raise UserError(f"there are no ImageNet weights of '{net}': give a file as weights, or take resnet18")
    return root / "imagenet-weights" / f"{WITH_IMAGENET_WEIGHTS[net]}.safetensors"


def find_imagenet_file(root: Path, net: str) -> Path:
    """The same, which must be there."""
    path = imagenet_file(root, net)
    if not path.is_file():
        raise UserError(f"there are no ImageNet weights in '{path.parent}': run 'fairflac data get imagenet-weights'")
    return path


def load_weights(net: nn.Module, path: Path) -> None:
    """A local state dict (.pth, .pt or .safetensors), or a checkpoint of a fairflac run.

    The last layer, `fc`, is taken over when the number of classes agrees and left out otherwise.
    """
    kind = type(net).__name__
    state = read_state(Path(path), kind)
    own = net.state_dict()
    if "fc.weight" not in state or state["fc.weight"].shape != own["fc.weight"].shape:
        state |= {name: value for name, value in own.items() if name.startswith("fc.")}
    try:
        net.load_state_dict(state)
    except RuntimeError as error:
        raise does_not_fit(path, kind) from error


def read_state(path: Path, kind: str) -> dict[str, Any]:
    """Tensors by name, for a network of this kind; nothing in the file is ever run."""
    try:
        _check_published(path)
        safe = path.suffix == ".safetensors"
        state: dict[str, Any] = load_file(path) if safe else dict(read_tensors(path))
    except FileNotFoundError:
        raise UserError(f"there is no weight file '{path}': check the path given as weights{_offer(kind)}") from None
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"cannot read weights from '{path}': it must be a state dict (.pth or .safetensors)") from error
    if isinstance(state.get("method"), dict):  # a checkpoint of a run: the method's state, in which the network is one
        return {name.removeprefix("net."): v for name, v in state["method"].items() if name.startswith("net.")}
    return state


def does_not_fit(path: Path, kind: str) -> UserError:
    return UserError(
        f"'{path}' does not hold the weights of a {kind} with these options: name the network it belongs to, with its "
        f"options{_offer(kind)}"
    )


def _check_published(path: Path) -> None:
    """A half-finished download is told from a wrong file only by its digest."""
    if path.name not in PUBLISHED.values():
        return
    begins = path.stem.rpartition("-")[2]
    if not sha256_of(path).startswith(begins):
        raise UserError(f"'{path}' is damaged: its sha256 does not begin with {begins}; download it again")


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_digest(tensors: Mapping[str, Tensor]) -> str:
    """Of names and values, in whatever order they come."""
    sha = hashlib.sha256()
    for name in sorted(tensors):
        flat = tensors[name].detach().cpu().contiguous().view(-1)
        sha.update(name.encode() + flat.view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()


def _offer(kind: str) -> str:
    if kind not in PUBLISHED:
        return ""
    if kind == "ResNet18":
        return "; for ImageNet weights run 'fairflac data get imagenet-weights' and set weights to imagenet"
    name = PUBLISHED[kind]
    return f"; torchvision's ImageNet weights for it are the file {name}, to be had from PyTorch's model zoo page"
