"""Augmented images per second, ours against PIL image by image, and the share of data in a step of ResNet-18.

    python benchmarks/data.py [rounds]

Images stored at 72 x 72 become batches of 128 at 64 x 64. PIL does what a loader usually does in one process: random
resized crop, flip, array, normalised tensor, stack. The two take turns within a round, so that a busy machine slows
both. A step is that of `fairflac train` with the vanilla method; its data part is everything before the network.

Images that do not fit into memory stay in their files: JPEGs of 500 x 375 are decoded to 72 x 72, by our threads and by
the processes of a DataLoader, as many as cores. Nothing else is at work meanwhile: in a training they share the cores
with the network, or have them for themselves while a GPU computes.
"""

import math
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from fairflac.config.run_config import RunConfig, TrainConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.augment import PRESETS, Augmentation
from fairflac.data.pixels.decode import decode
from fairflac.data.pixels.files import decoded
from fairflac.data.pixels.live import LiveImages, read_ahead
from fairflac.methods.vanilla import Vanilla
from fairflac.nets.resnet import ResNet18
from fairflac.training.engine import make_fabric
from fairflac.training.optimise import Optimisation
from fairflac.training.pipeline import Batches
from fairflac.types import TaskSpec

BATCH = 128
IMAGES, FILES = 4096, 128
STORED, SIZE = 72, 64
WANTED_SHARE = 15  # per cent at most

TASK = TaskSpec(("no", "yes"), {}, (SIZE, SIZE), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def faces() -> BiasedDataset:
    """Noise: the time depends on the shapes only."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (IMAGES, STORED, STORED, 3), dtype=np.uint8)
    return BiasedDataset(images, rng.integers(0, 2, IMAGES), {}, np.arange(IMAGES).astype(str), "train", TASK)


def pil_batch(data: BiasedDataset, index: Tensor) -> Tensor:
    """Random resized crop and flip of one image after the other."""
    mean, std = (np.array(values, dtype=np.float32)[:, None, None] for values in (TASK.mean, TASK.std))

    def one(i: int) -> Tensor:
        image = Image.fromarray(data.images[i]).crop(random_box())
        image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / 255
        return torch.from_numpy((pixels - mean) / std)

    return torch.stack([one(i) for i in index.tolist()])


def random_box() -> tuple[int, int, int, int]:
    """Left, top, right and bottom, of 8 % to all of the area."""
    while True:
        area = STORED**2 * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < width <= STORED and 0 < height <= STORED:
            left, top = random.randint(0, STORED - width), random.randint(0, STORED - height)
            return left, top, left + width, top + height


def photographs(folder: Path) -> LiveImages:
    """As many images as in memory, of a few files."""
    rng, digests = np.random.default_rng(0), []
    for number in range(FILES):
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
        path = folder / f"{number}.jpg"
        coarse.resize((500, 375), Image.Resampling.BICUBIC).save(path, quality=90)
        digests.append(int(decoded(path.read_bytes(), (STORED, STORED), "cover").digest, 16))
    names = [f"{number}.jpg" for number in range(FILES)] * (IMAGES // FILES)
    return LiveImages.of(folder, names, np.array(digests * (IMAGES // FILES), np.uint64), (STORED, STORED), "cover")


class OneByOne(torch.utils.data.Dataset[np.ndarray]):
    """As a loader with processes reads them."""

    def __init__(self, images: LiveImages) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> np.ndarray:
        return decode((self.images.folder / self.images.names[i]).read_bytes(), (STORED, STORED), "cover")


def by_processes(images: LiveImages, order: Tensor) -> Iterator[Tensor]:
    loader: torch.utils.data.DataLoader[np.ndarray] = torch.utils.data.DataLoader(
        OneByOne(images), batch_sampler=order.tolist(), num_workers=os.cpu_count() or 1, multiprocessing_context="fork"
    )
    return iter(loader)


def per_batch(batches: Iterator[object], count: int) -> float:
    """Seconds, once the first is there."""
    next(batches)
    start = perf_counter()
    for _ in batches:
        pass
    return (perf_counter() - start) / (count - 1)


def seconds(work: Callable[..., object], *arguments: object) -> float:
    start = perf_counter()
    work(*arguments)
    return perf_counter() - start


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    data, fabric = faces(), make_fabric()
    method = Vanilla(ResNet18(2).to(memory_format=torch.channels_last), TASK)  # type: ignore[call-overload]
    minimise = Optimisation(method, TrainConfig(), fabric)

    def batches(augment: Augmentation) -> Batches:
        config = RunConfig(
            dataset="faces", method="vanilla", net="resnet18", seed=0, train=TrainConfig(augment=augment)
        )
        return Batches(method, data, config, fabric, None)

    def train(batch_of: Batches, index: Tensor, epoch: int) -> None:
        with fabric.autocast():
            method.step(batch_of(index, epoch), minimise)

    ways: dict[Augmentation, Batches] = {name: batches(name) for name in ("none", *PRESETS)}
    times: dict[str, list[float]] = {name: [] for name in ("PIL", "step", *ways)}
    for epoch in range(rounds + 1):  # the first warms up
        index = torch.randint(IMAGES, (BATCH,))
        times["PIL"].append(seconds(pil_batch, data, index))
        for name, way in ways.items():
            times[name].append(seconds(way, index, epoch))
        times["step"].append(seconds(train, ways["none"], index, epoch))
    medians = {name: statistics.median(seen[1:]) for name, seen in times.items()}
    with tempfile.TemporaryDirectory() as folder:
        images, order = photographs(Path(folder)), torch.randint(IMAGES, (rounds + 1, BATCH))
        medians["live, threads"] = per_batch(read_ahead(images, order.numpy()), len(order))
        medians["live, processes"] = per_batch(by_processes(images, order), len(order))
    report(medians, str(fabric.strategy.precision.precision))


def report(medians: dict[str, float], precision: str) -> None:
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {STORED} → {SIZE} pixels, batch {BATCH}")
    print(f"a step of ResNet-18 in {precision} without augmentation: {1e3 * medians['step']:.0f} ms")
    print(f"{'':16}{'ms':>8}{'images/s':>10}{'share of a step':>18}")
    network = medians["step"] - medians["none"]
    for name, median in medians.items():
        if name != "step":
            share = 100 * median / (median + network)
            print(f"{name:16}{1e3 * median:8.1f}{BATCH / median:10.0f}{share:16.1f} %")
    ours = 100 * medians["crop-flip"] / (medians["crop-flip"] + network)
    print(f"crop-flip: {medians['PIL'] / medians['crop-flip']:.1f} times PIL; {ours:.1f} % of a step", end="")
    print(f", wanted at most {WANTED_SHARE} %")


if __name__ == "__main__":
    main()
