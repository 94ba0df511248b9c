"""Augmented images per second, ours against PIL image by image, and the share of data in a step of ResNet-18.

    python benchmarks/data.py [rounds]

Images stored at 72 x 72 become batches of 128 at 64 x 64. PIL does what a loader usually does in one process: random
resized crop, flip, array, normalised tensor, stack. The two take turns within a round, so that a busy machine slows
both. A step is that of `fairflac train` with the vanilla method; its data part is everything before the network.
"""

import math
import random
import statistics
import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from fairflac.config.run_config import RunConfig, TrainConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.pixels.augment import PRESETS, Augmentation
from fairflac.methods.vanilla import Vanilla
from fairflac.nets.resnet import ResNet18
from fairflac.training.engine import make_fabric
from fairflac.training.optimise import Optimisation
from fairflac.training.pipeline import Batches
from fairflac.types import TaskSpec

BATCH = 128
IMAGES = 4096
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
    report(
        {name: statistics.median(seen[1:]) for name, seen in times.items()}, str(fabric.strategy.precision.precision)
    )


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
