"""FLAC's fused loss against its dense textbook form with autograd, forward and backward: `python benchmarks/loss.py`.

`--large 8192 16384` measures large global batches instead, D = 512, and the part of one process among several.

D = 128, bias features of 10 attribute values with small noise, q = 0.99. Both forms give the same value, gradient and
stats. The two forms take turns in short blocks, so that both meet the same noise of the machine; a ratio is the median
of those of the blocks. Memory is what a fresh process needs on top.
"""

import argparse
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from fairflac.losses import FLACLoss
from fairflac.losses.flac import DenseFLACLoss
from fairflac.losses.gather import Share

WIDTH, LARGE_WIDTH = 128, 512
VALUES = 10
ALIGNED = 0.99
BLOCK_SECONDS = 0.02
WARM_UP = 3  # blocks
FORMS: dict[str, type[FLACLoss]] = {"fused": FLACLoss, "dense": DenseFLACLoss}
WANTED = {128: 3, 1024: 5, 4096: 8}
MEMORY_AT = 8192
MEMORY_WANTED = 8
PROCESSES = (1, 2, 4, 16, 64)
MOST_DENSE = 8192  # samples whose matrices take a few gigabytes


def batch(n: int, width: int = WIDTH) -> tuple[Tensor, Tensor, Tensor]:
    """Classes, each with its own attribute value but for 1 - q of the samples."""
    g = torch.Generator().manual_seed(0)
    y = torch.randint(0, VALUES, (n,), generator=g)
    other = (y + torch.randint(1, VALUES, (n,), generator=g)) % VALUES
    attribute = torch.where(torch.rand(n, generator=g) < ALIGNED, y, other)
    b = torch.randn(VALUES, width, generator=g)[attribute] + 0.05 * torch.randn(n, width, generator=g)
    return b, torch.randn(n, width, generator=g, requires_grad=True), y


def stepper(form: str, n: int, width: int = WIDTH) -> Callable[[], None]:
    """One forward and backward pass, ready to call."""
    loss, (b, h, y) = FORMS[form](), batch(n, width)

    def step() -> None:
        h.grad = None
        loss(b, h, y).backward()

    return step


def clock() -> float:
    """With one thread the processor's: it does not depend on what else the machine does."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def seconds(step: Callable[[], None], calls: int) -> float:
    for _ in range(calls // 5):  # the other form has left its data in the caches and its threads spinning
        step()
    start = clock()
    for _ in range(calls):
        step()
    return (clock() - start) / calls


def times(n: int, repeats: int) -> tuple[float, float, float]:
    """Median seconds of a step, dense and fused, and the median of their ratios."""
    steps = {form: stepper(form, n) for form in FORMS}
    calls = {form: max(1, round(BLOCK_SECONDS / seconds(step, 3))) for form, step in steps.items()}
    blocks = [{form: seconds(step, calls[form]) for form, step in steps.items()} for _ in range(WARM_UP + repeats)]
    blocks = blocks[WARM_UP:]  # a process that has just begun is slower, and small steps feel it more
    dense, fused = (statistics.median(block[form] for block in blocks) for form in ("dense", "fused"))
    return dense, fused, statistics.median(block["dense"] / block["fused"] for block in blocks)


class Alone(Share):
    """The rows of one process among several, with nobody there to ask: what it would compute, and no result."""

    def largest(self, x: Tensor) -> Tensor:
        return x

    def summed(self, x: Tensor) -> Tensor:
        return x


def of_share(n: int, processes: int) -> Callable[[], None]:
    """The same for the rows of the first of several processes."""
    loss, (b, h, y) = FLACLoss(), batch(n, LARGE_WIDTH)
    share = Alone(slice(0, n // processes), processes)

    def step() -> None:
        h.grad = None
        loss.of_share(b, h, y, share).backward()

    return step


def measure_large(sizes: list[int]) -> None:
    heads = [f"1 of {processes}" if processes > 1 else "all rows" for processes in PROCESSES]
    print(f"D = {LARGE_WIDTH}, forward and backward, seconds of the processor; the share of one process among several")
    print(f"{'N':>8}{'dense':>10}" + "".join(f"{head:>10}" for head in heads) + f"{'extra MB':>10}{'of dense':>10}")
    for n in sizes:
        dense = once(stepper("dense", n, LARGE_WIDTH)) if n <= MOST_DENSE else math.nan
        times = [once(of_share(n, processes)) for processes in PROCESSES]
        extra = memory("fused", n, LARGE_WIDTH), memory("dense", n, LARGE_WIDTH) if n <= MOST_DENSE else math.nan
        cells = "".join(f"{time:10.2f}" for time in (dense, *times))
        print(f"{n:8}{cells}{extra[0]:10.0f}{extra[1]:10.0f}", flush=True)


def once(step: Callable[[], None]) -> float:
    start = clock()
    step()
    return clock() - start


def print_memory(form: str, n: int, width: int) -> None:
    """How far the peak rises above what is there; Linux resets the peak when asked."""
    step = stepper(form, n, width)
    stepper(form, 128)()  # libraries and thread pools are there from now on
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    step()
    print((kilobytes("VmHWM") - before) / 1024)


def kilobytes(of: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(of)))


def memory(form: str, n: int = MEMORY_AT, width: int = WIDTH) -> float:
    words = [sys.executable, __file__, "--memory", form, str(n), str(width)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100, help="blocks of each form at N = 128")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--large", type=int, nargs="+", metavar="N", help="large batches instead, with one thread")
    parser.add_argument("--memory", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        form, n, width = arguments.memory
        return print_memory(form, int(n), int(width))
    torch.set_num_threads(1 if arguments.large else arguments.threads)
    if arguments.large:
        return measure_large(arguments.large)
    print(f"torch {torch.__version__}, {arguments.threads} threads")
    print(f"{'':20}{'dense':>12}{'fused':>12}{'ratio':>8}{'wanted':>8}")
    for n, wanted in WANTED.items():
        dense, fused, ratio = times(n, repeats=max(5, arguments.repeats * 128 // n))
        print(row(f"N = {n}, ms", dense * 1e3, fused * 1e3, ratio, wanted), flush=True)
    dense, fused = memory("dense"), memory("fused")
    print(row(f"N = {MEMORY_AT}, extra MB", dense, fused, dense / fused, MEMORY_WANTED))


def row(what: str, dense: float, fused: float, ratio: float, wanted: float) -> str:
    return f"{what:20}{dense:12.2f}{fused:12.2f}{ratio:8.1f}{wanted:8}"


if __name__ == "__main__":
    main()
