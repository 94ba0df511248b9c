"""Frozen features: what a network that was trained on other images sees in these; computed once and kept."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.data.own.listing import MEAN, STD
from fairflac.data.pixels.augment import unit_floats
from fairflac.data.pixels.live import batches_of, bytes_of, read_ahead
from fairflac.data.pixels.stored import Pixels
from fairflac.errors import UserError
from fairflac.nets.frozen import SIDE, FrozenResNet18, fold_batch_norm
from fairflac.nets.weights import find_imagenet_file, imagenet_file, sha256_of
from fairflac.runs.gallery import shrink
from fairflac.system.array_files import computed_arrays
from fairflac.system.files import one_at_a_time, read_array, read_mapped
from fairflac.system.hardware import best_device, full_precision
from fairflac.system.progress import meter, tell_once
from fairflac.types import Network

BATCH = 128
LARGEST = 1e15  # of a feature: squares of larger ones add up to no float32
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
    net = FrozenResNet18(1, weights=path).to(device).eval()
    fold_batch_norm(net)
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


def extract(extractor: FeatureExtractor, images: Pixels, cache: Path, *, silent: bool = False) -> np.ndarray:
    """(N, H, W, 3) uint8 → (N, D) float32, from the cache where it has them for these weights and images.

    Mapped from a file, which is written while they are computed: memory does not grow with the images, and after a
    kill it goes on from there.
    """
    checksum = _checksum(extractor, images)
    path = cache / f"features-{checksum[:20]}.npy"
    if (kept := _kept(path, len(images))) is not None:
        return kept

    def parts(start: int) -> Iterator[tuple[np.ndarray]]:
        batches = [start + rows for rows in batches_of(len(images) - start, BATCH)]
        with (
            meter("features", len(images), done=start, silent=silent) as bar,
            closing(read_ahead(images, batches)) as pixels,
        ):
            for part in pixels:
                yield (extractor.features(np.ascontiguousarray(part)).astype(np.float32),)
                bar.advance(len(part))

    with suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(path.with_suffix(".lock")):
            kept = _kept(path, len(images))  # another process may have computed them meanwhile
            return computed_arrays([path], len(images), checksum, parts)[0] if kept is None else kept
    return np.concatenate([part for (part,) in parts(0)])  # where nothing can be kept, it is computed each time


def _kept(path: Path, rows: int) -> np.ndarray | None:
    """None: not there, or damaged, which costs nothing but computing it again."""
    try:
        kept = read_mapped(path)
    except ValueError:
        return None
    return kept if len(kept) == rows else None


def _checksum(extractor: FeatureExtractor, images: Pixels) -> str:
    digest = hashlib.sha256(f"{extractor.identity} {images.shape}".encode())
    for part in bytes_of(images):
        digest.update(part)
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
    bad = np.flatnonzero(~(np.abs(found.astype(np.float64)) < LARGEST).all(1))
    if len(bad):
        raise UserError(
            f"row {bad[0]} of '{path}' is not finite, or beyond {LARGEST:g}: compute the features of that image again"
        )
    return found.astype(np.float32)


def standardised(features: np.ndarray, like: np.ndarray | None = None) -> np.ndarray:
    """Every number with mean 0 and deviation 1 (of the images `like`, if given); one that is always the same is 0."""
    like = features if like is None else like
    spread = like.std(0)
    scaled: np.ndarray = ((features - like.mean(0)) / np.where(spread > 1e-12, spread, 1)).astype(np.float32)
    return scaled
