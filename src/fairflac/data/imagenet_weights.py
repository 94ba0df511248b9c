"""ImageNet weights: fetched once, verified, kept as safetensors beside the datasets.

The file is torchvision's ResNet-18 (IMAGENET1K_V1), from which the paper's face experiments start.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from fairflac.data.sources import SOURCE_FAILURES, Log, download_to
from fairflac.errors import UserError
from fairflac.nets.resnet import ResNet18
from fairflac.nets.weights import PUBLISHED, content_digest, find_imagenet_file, imagenet_file, read_state, sha256_of
from fairflac.system.files import replacing

NAME = "imagenet-weights"
FILE = PUBLISHED["ResNet18"]
ADDRESS = f"https://download.pytorch.org/models/{FILE}"
SIZE = 46_830_571  # bytes
LICENCE = (
    "torchvision is under the BSD 3-clause licence; ImageNet's terms, under which the weights were trained, allow "
    "non-commercial research and education"
)
CLASSES = 1000


def get(root: Path, source: Path | None = None, say: Log = print) -> None:
    """Take the weights over from the file `source`, else from PyTorch's server; a download that broke off goes on."""
    place = imagenet_file(root)
    if source is None and place.is_file():
        check(root)
        say(f"{NAME}: already in {place}")
        return
    if source is not None:
        _keep(source, place)
    else:
        fetched = _fetched(place.parent, say)
        try:
            _keep(fetched, place)
        finally:
            fetched.unlink()
    for line in check(root):
        say(f"{NAME}: {line}")


def check(root: Path) -> list[str]:
    """What is kept, or a UserError if it is missing or was changed since."""
    path = find_imagenet_file(root, "resnet18")
    try:
        with safe_open(path, framework="pt") as file:
            known, tensors = file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError):
        known, tensors = {}, {}
    if not tensors or known.get("content") != content_digest(tensors):
        raise UserError(f"'{path}' is damaged: delete it and run 'fairflac data get {NAME}'")
    official = known["sha256"].startswith(FILE.rpartition("-")[2].removesuffix(".pth"))
    origin = f"torchvision's {FILE}" if official else f"another file than torchvision's {FILE}"
    return [f"resnet18, from {origin} (sha256 {known['sha256'][:8]}…), in {path}", f"licence: {LICENCE}"]


def digest(root: Path) -> str:
    """How the sha256 of the file begins that the kept weights came from, for the record of a run."""
    with safe_open(find_imagenet_file(root, "resnet18"), framework="pt") as file:
        return str((file.metadata() or {}).get("sha256", ""))[:8]


def _fetched(folder: Path, say: Log) -> Path:
    say(f"{NAME}: {SIZE / 1e6:.0f} MB from {ADDRESS}")
    try:
        return download_to(folder / FILE, ADDRESS, SIZE)
    except SOURCE_FAILURES as error:
        raise UserError(
            f"{ADDRESS} could not be fetched ({error}): run it again to go on, or fetch the file yourself and run "
            f"'fairflac data get {NAME} --from FILE'"
        ) from error


def _keep(source: Path, place: Path) -> None:
    """Only tensors that make up a ResNet-18 of ImageNet's classes are kept, and nothing of the file is run."""
    state = read_state(source, "ResNet18")
    expected = ResNet18(CLASSES).state_dict()
    state = {name: state.get(name) for name in expected if name in state or "num_batches_tracked" not in name}
    for name, value in state.items():
        if not isinstance(value, torch.Tensor) or value.shape != expected[name].shape:
            raise UserError(f"'{source}' does not hold a ResNet-18 of ImageNet's {CLASSES} classes: '{name}' differs")
        if not torch.isfinite(value).all():
            raise UserError(f"'{source}' is damaged: '{name}' is not finite; fetch it again")
    tensors: dict[str, Any] = {name: value.contiguous() for name, value in state.items()}
    metadata = {"sha256": sha256_of(source), "content": content_digest(tensors), "licence": LICENCE}
    with replacing(place) as stream:
        stream.write(save(tensors, metadata))
