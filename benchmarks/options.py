"""What FLAC's settings beyond the paper cost in a training step: `python benchmarks/options.py [rounds]`.

The network of biased-digits, batches of 128 of its digits, a table of bias features. All settings take turns within a
round, so that a busy machine slows all of them, and a ratio is the median of those to plain FLAC in the same round.
Memory is what a step of ResNet-18 on 128 images of 64 pixels needs on top, in a fresh process.
"""

import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter
from typing import Any

import torch
from loss import kilobytes

from fairflac.config.run_config import RunConfig, resolve
from fairflac.data.base import BiasedDataset
from fairflac.discovery.bias_model import BiasSource
from fairflac.training.build import build_method, load_split
from fairflac.training.engine import make_fabric
from fairflac.training.optimise import Optimisation
from fairflac.training.pipeline import Batches
from fairflac.types import Batch, Output

PLAIN = "plain FLAC"
SETTINGS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "targets=reachable": {"targets": "reachable"},
    "balanced_rows=true": {"balanced_rows": True},
    "balance=pairs": {"balance": "pairs"},
    "balance=logits": {"balance": "logits"},
    "strength=0.95": {"strength": 0.95},
    "flac-plus": {"bias_output": "probabilities", "targets": "reachable", "balance": "pairs", "strength": 0.95},
    "micro_batch=32": {"micro_batch": 32},
    "micro_batch=16": {"micro_batch": 16},
}
MEMORY = (PLAIN, "micro_batch=32", "micro_batch=16")
FABRIC = make_fabric()


def stepper(config: RunConfig, data: BiasedDataset) -> Callable[[], None]:
    """One step of `fairflac train`, batch after batch; a bias model that knows the colours, with a little noise."""
    torch.manual_seed(0)
    method = build_method(config, data.task)
    colours = torch.eye(10)[torch.from_numpy(data.bias["colour"])]
    bias = BiasSource(None, Output(10 * colours, colours + torch.rand(len(data), 10) / 20), {})
    batches, minimise = Batches(method, data, config, FABRIC, bias), Optimisation(method, config.train, FABRIC)
    method.prepare(batches.everything())

    def step() -> None:
        method.step(batches(torch.randint(len(data), (config.train.batch_size,)), 0), minimise)

    return step


def print_memory(setting: str) -> None:
    """How far the peak rises above what is there; Linux resets the peak when asked."""
    config = resolve("biased-digits", "flac", 0, {"net": "resnet18", **SETTINGS[setting]})
    data = load_split(config, Path(gettempdir()), "train")
    assert data is not None
    method = build_method(config, data.task)
    minimise, y = Optimisation(method, config.train, FABRIC), torch.arange(128) % 10
    bias = Output(torch.eye(10)[y.roll(1)], torch.eye(10)[y.roll(1)])

    def step(images: int) -> None:
        x = torch.rand(images, 3, 64, 64).contiguous(memory_format=torch.channels_last)
        parts = Output(bias.logits[:images], bias.features[:images])
        method.step(Batch((x,), y[:images], torch.arange(images), None, parts), minimise)

    step(8)  # libraries, thread pools and the state of Adam are there from now on
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    step(128)
    print((kilobytes("VmHWM") - before) / 1024)


def memory(setting: str) -> float:
    answer = subprocess.run([sys.executable, __file__, "--memory", setting], capture_output=True, text=True, check=True)
    return float(answer.stdout)


def main() -> None:
    if "--memory" in sys.argv:
        return print_memory(sys.argv[-1])
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    steps = {}
    for name, settings in SETTINGS.items():
        config = resolve("biased-digits", "flac", 0, settings)
        data = load_split(config, Path(gettempdir()), "train")
        assert data is not None
        steps[name] = stepper(config, data)
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds + 2):
        for name, step in steps.items():
            start = perf_counter()
            step()
            times[name].append(perf_counter() - start)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {rounds} rounds")
    print(f"{'':20}{'ms':>8}{'ratio':>8}")
    for name, seen in times.items():
        ratio = statistics.median(a / b for a, b in zip(seen[2:], times[PLAIN][2:], strict=True))  # two to warm up
        print(f"{name:20}{1e3 * statistics.median(seen[2:]):8.1f}{ratio:8.2f}")
    print(f"\n{'':20}{'extra MB':>8}")
    for name in MEMORY:
        print(f"{name:20}{memory(name):8.0f}", flush=True)


if __name__ == "__main__":
    main()
