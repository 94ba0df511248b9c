"""Weights from a file into a network: ours, torchvision's, and those of the authors' code and of VB-Mitigator."""

import hashlib
import re
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

WRAPPERS = ("state_dict", "model_state_dict", "model")  # under which training scripts keep weights among other things
PREFIXES = ("module.", "_orig_mod.")  # of weights that were saved from inside DataParallel or torch.compile
# What the authors' scripts and VB-Mitigator pickle beside the weights: options, and a score as a NumPy number.
RECORDS = ("argparse.Namespace", "numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar", "numpy.dtype")


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
    """A local state dict (.pth, .pt or .safetensors), or a checkpoint: of a fairflac run, or see `read_state`.

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
    """Tensors by name, for a network of this kind; nothing in the file is ever run.

    Weights may lie in a checkpoint among other things, carry a prefix, or have the names of the authors' networks.
    """
    try:
        _check_published(path)
        safe = path.suffix == ".safetensors"
        state: dict[str, Any] = load_file(path) if safe else dict(_read_checkpoint(path))
    except FileNotFoundError:
        raise UserError(f"there is no weight file '{path}': check the path given as weights{_offer(kind)}") from None
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"cannot read weights from '{path}': it must be a state dict (.pth or .safetensors)") from error
    if isinstance(state.get("method"), dict):  # a checkpoint of a run: the method's state, in which the network is one
        return {name.removeprefix("net."): v for name, v in state["method"].items() if name.startswith("net.")}
    state = next((state[key] for key in WRAPPERS if isinstance(state.get(key), dict)), state)
    return {_our_name(name): value for name, value in state.items()}


class Ignored:
    """Stands in for an object of a checkpoint that is no tensor: whatever it was made of is dropped."""

    def __new__(cls, *_: object) -> "Ignored":
        return super().__new__(cls)

    def __setstate__(self, _: object) -> None:
        pass


def _read_checkpoint(path: Path) -> Any:
    with torch.serialization.safe_globals([(Ignored, name) for name in RECORDS]):
        return read_tensors(path)


# Their networks keep all layers but the last in one `nn.Sequential`: of SimpleConvNet four times convolution, norm and
# ReLU (`extracter`, as they spell it), of ResNet-18 what torchvision's has, in its order.
STEM = {"0": "conv1", "1": "bn1", "4": "layer1", "5": "layer2", "6": "layer3", "7": "layer4"}


def _our_name(name: str) -> str:
    """The name of a layer in our networks, of whatever wrapping and code it comes from."""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    if found := re.fullmatch(r"extracter\.(\d+)\.(.+)", name):
        block, layer = divmod(int(found[1]), 3)
        return f"blocks.{block}.{layer}.{found[2]}"
    if found := re.fullmatch(r"extractor\.(\d)\.(.+)", name):
        return f"{STEM.get(found[1], found[1])}.{found[2]}"
    return name


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
