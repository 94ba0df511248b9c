"""How the cost of an epoch of FLAC grows, with images, classes, attribute values, batch and image size.

    python benchmarks/scaling.py [images|classes|values|batch|side]

Each row is a process of its own with one thread: synthetic images in memory, a small network, every image once, the
features of the bias model from a table. Time is that of the processor, which does not depend on what else the machine
does; memory is what the peak rises above a process that has imported everything. The exponent is the slope of a line
through the logarithms: 1 is growth in proportion, 0 none.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from loss import kilobytes
from torch import Tensor

from fairflac.config.run_config import RunConfig, TrainConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.batches import epoch_batches
from fairflac.discovery.bias_model import BiasSource
from fairflac.methods import Frozen
from fairflac.methods.flac import FLAC
from fairflac.nets.small import SimpleConvNet
from fairflac.training.engine import make_fabric
from fairflac.training.optimise import Optimisation
from fairflac.training.pipeline import Batches
from fairflac.types import Output, TaskSpec

USUAL = {"images": 3000, "classes": 10, "values": 10, "batch": 128, "side": 16}
GROWTH = {
    "images": (1000, 3000, 10_000, 30_000, 100_000),
    "classes": (2, 10, 100, 1000),
    "values": (2, 10, 100, 1000),
    "batch": (32, 64, 128, 256, 512),
    "side": (16, 32, 64),
}
NET = {"kernel_size": 3, "channels": (8, 8, 16, 16)}
ALIGNED = 0.95
WIDTH = 32  # of the bias model's features


def network(classes: int) -> SimpleConvNet:
    return SimpleConvNet(classes, **NET)  # type: ignore[arg-type]


def synthetic(images: int, classes: int, values: int, side: int) -> tuple[BiasedDataset, Tensor]:
    """Noise, labels, and (N, D) features of a bias model: a point for each attribute value, with noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, images)
    attribute = np.where(rng.random(images) < ALIGNED, y % values, rng.integers(0, values, images))
    pixels = rng.integers(0, 256, (images, side, side, 3), dtype=np.uint8)
    task = TaskSpec(tuple(map(str, range(classes))), {}, (side, side), mean=(0.5,) * 3, std=(0.25,) * 3)
    features = rng.normal(size=(values, WIDTH))[attribute] + 0.05 * rng.normal(size=(images, WIDTH))
    data = BiasedDataset(pixels, y, {}, np.arange(images).astype(str), "train", task)
    return data, torch.from_numpy(features.astype(np.float32))


def epoch(images: int, classes: int, values: int, batch: int, side: int) -> tuple[float, float]:
    """Seconds of the processor, and megabytes."""
    torch.set_num_threads(1)
    train(*synthetic(256, 2, 2, 16), 128)  # whatever is loaded at the first step
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    data, features = synthetic(images, classes, values, side)
    seconds = train(data, features, batch)
    return seconds, (kilobytes("VmHWM") - before) / 1024


def train(data: BiasedDataset, features: Tensor, batch: int) -> float:
    """Seconds of one epoch."""
    classes, config = data.task.num_classes, TrainConfig(batch_size=batch)
    method, fabric = FLAC(network(classes), data.task), make_fabric()
    run = RunConfig(dataset="synthetic", method="flac", net="simple-conv", seed=0, train=config)
    bias = BiasSource(Frozen(network(classes)), Output(torch.zeros(len(data), classes), features), {})
    batch_of, minimise = Batches(method, data, run, fabric, bias), Optimisation(method, config, fabric)
    start = time.process_time()
    for index in epoch_batches(len(data), batch, seed=0, epoch=0):
        method.step(batch_of(index, 0), minimise)
    return time.process_time() - start


def slope(x: tuple[int, ...], y: list[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-9)), 1)[0])


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1].startswith("{"):
        return print(json.dumps(epoch(**json.loads(sys.argv[1]))))
    usual = ", ".join(f"{name} {value}" for name, value in USUAL.items())
    print(f"torch {torch.__version__}, one thread; unless said otherwise {usual}")
    print(f"{'':>8}{'':>10}{'s':>8}{'MB':>8}")
    for name in sys.argv[1:] or GROWTH:
        seconds, megabytes = [], []
        for value in GROWTH[name]:
            words = [sys.executable, __file__, json.dumps(USUAL | {name: value})]
            answer = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
            seconds.append(answer[0])
            megabytes.append(answer[1])
            print(f"{name:>8}{value:10}{answer[0]:8.2f}{answer[1]:8.0f}", flush=True)
        exponents = slope(GROWTH[name], seconds), slope(GROWTH[name], megabytes)
        print(f"{name:>8}{'exponent':>10}{exponents[0]:8.2f}{exponents[1]:8.2f}", flush=True)


if __name__ == "__main__":
    main()
