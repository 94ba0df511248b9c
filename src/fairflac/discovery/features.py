"""Frozen features: what a network that was trained on other images sees in these; computed once and kept."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.data.own.listing import MEAN, STD
from fairflac.data.pixels.augment import unit_floats
from fairflac.errors import UserError
from fairflac.nets.frozen import SIDE, FrozenResNet18
from fairflac.nets.weights import find_imagenet_file, imagenet_file, sha256_of
from fairflac.runs.gallery import shrink
from fairflac.system.files import read_array, replacing
from fairflac.system.hardware import best_device, full_precision
from fairflac.system.progress import meter, tell_once
from fairflac.types import Network

BATCH = 128
PIXELS = 16  # pixels of a side, where there is no network


@dataclass(frozen=True)
class FeatureExtractor:
    """Images in, features out."""

    says: str  # what it is, for people
    size: tuple[int, int]  # of the images that it takes
    identity: str  # another one for other weights
    features: Callable[[np.ndarray], np.ndarray]  # (B, H, W, 3) uint8 → (B, D) float32


def extractors(root: Path) -> tuple[FeatureExtractor, ...]:
    """The ImageNet network, if its weights are kept below `root`, and the pixels, which show colours and places."""
    if imagenet_file(root).is_file():
        return imagenet_extractor(root), pixel_extractor()
    tell_once(
        "no ImageNet weights here, so that pixels alone are looked at; better: fairflac data get imagenet-weights"
    )
    return (pixel_extractor(),)


def imagenet_extractor(root: Path) -> FeatureExtractor:
    """The 512 numbers after average pooling of the ImageNet ResNet-18 that is kept below `root`.

    In bf16 where that is faster: witnesses look for clusters and directions, which its digits show as well.
    """
    from fairflac.training.precision import choose_precision  # which imports this package

    path = find_imagenet_file(root, "resnet18")
    device = torch.device(best_device())
    net = FrozenResNet18(1, weights=path).to(device)
    precision = choose_precision("auto", net, (3, SIDE, SIDE), device)
    mean, std = (torch.tensor(values, device=device).view(1, 3, 1, 1) for values in (MEAN, STD))

    def features(images: np.ndarray) -> np.ndarray:
        x = unit_floats(torch.tensor(images, device=device))
        if max(x.shape[2:]) > SIDE:  # of a dataset that has larger ones
            x = F.interpolate(x, (SIDE, SIDE), mode="bilinear", antialias=True)
        return embedding(net, (x - mean) / std, half=precision == "bf16-mixed")

    return FeatureExtractor("ImageNet ResNet-18", (SIDE, SIDE), f"{sha256_of(path)} {precision}", features)


@torch.no_grad()
def embedding(net: Network, x: Tensor, *, half: bool = False) -> np.ndarray:
    """(B, 3, H, W) floats → (B, E), as all answers are computed, in fp32, or with `half` in bf16."""
    with torch.autocast(x.device.type, torch.bfloat16) if half else full_precision(x.device):
        seen: np.ndarray = net.embed(x.contiguous(memory_format=torch.channels_last)).float().cpu().numpy()
    return seen


def pixel_extractor() -> FeatureExtractor:
    """The image itself, at 16 x 16 pixels: for when there are no weights. It sees colours and places, not things."""

    def features(images: np.ndarray) -> np.ndarray:
        small = np.stack([shrink(image, PIXELS) for image in images])
        return small.reshape(len(small), -1).astype(np.float32) / 255

    return FeatureExtractor(f"{PIXELS} x {PIXELS} pixels", (SIDE, SIDE), f"pixels {PIXELS}", features)


def extract(extractor: FeatureExtractor, images: np.ndarray, cache: Path, *, silent: bool = False) -> np.ndarray:
    """(N, H, W, 3) uint8 → (N, D) float32, from the cache where it has them for these weights and images."""
    path = cache / f"features-{_checksum(extractor, images)[:20]}.npy"
    try:
        kept = read_array(path)
        if len(kept) == len(images):
            return kept
    except ValueError:
        pass  # not there, or damaged: that costs nothing but computing it again
    parts = []
    with meter("features", len(images), silent=silent) as bar:
        for start in range(0, len(images), BATCH):
            parts.append(extractor.features(np.ascontiguousarray(images[start : start + BATCH])))
            bar.advance(len(parts[-1]))
    found = np.concatenate(parts).astype(np.float32)
    with suppress(OSError), replacing(path) as stream:  # where nothing can be kept, it is computed each time
        np.save(stream, found)
    return found


def _checksum(extractor: FeatureExtractor, images: np.ndarray) -> str:
    digest = hashlib.sha256(f"{extractor.identity} {images.shape}".encode())
    for start in range(0, len(images), BATCH):
        digest.update(np.ascontiguousarray(images[start : start + BATCH]).data)
    return digest.hexdigest()


def read_features(path: Path, rows: int) -> np.ndarray:
    """Of a npy file with a row of numbers for each of `rows` images."""
    if not path.is_file():
        raise UserError(f"there is no file '{path}': give a .npy file with a row for each image")
    try:
        found = read_array(path)
    except ValueError as error:
        raise UserError(f"'{path}' is no .npy file of numbers ({error}): save it with numpy.save") from error
    if found.ndim != 2 or found.dtype.kind not in "fiu" or found.shape[1] == 0:
        raise UserError(
            f"'{path}' holds {found.dtype} of shape {found.shape}: features are numbers, a row for each image"
        )
    if len(found) != rows:
        raise UserError(
            f"'{path}' has {len(found):,} rows, and there are {rows:,} images: give one row for each image, in the "
            "order of the listing"
        )
    bad = np.flatnonzero(~np.isfinite(found).all(1))
    if len(bad):
        raise UserError(f"row {bad[0]} of '{path}' is not finite: compute the features of that image again")
    return found.astype(np.float32)


def standardised(features: np.ndarray, like: np.ndarray | None = None) -> np.ndarray:
    """Every number with mean 0 and deviation 1 (of the images `like`, if given); one that is always the same is 0."""
    like = features if like is None else like
    spread = like.std(0)
    scaled: np.ndarray = ((features - like.mean(0)) / np.where(spread > 1e-12, spread, 1)).astype(np.float32)
    return scaled
