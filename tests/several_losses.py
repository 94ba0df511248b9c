"""Run by test_gather.py: FLAC's loss of a batch that several real processes share, gathered, gradients averaged."""

import itertools
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from fairflac.losses import FLACLoss
from fairflac.losses.flac import DenseFLACLoss, listed

N = 24
LOSSES = {
    "default": lambda **options: FLACLoss(**options),
    "paper": lambda **options: FLACLoss.paper(**options),
    "balanced": lambda **options: FLACLoss(balanced_rows=True, targets="reachable", reduction="batch", **options),
    "cosine": lambda **options: FLACLoss(kernel="cosine", threshold="midrange-off-diagonal", **options),
    "dense": lambda **options: DenseFLACLoss(**options),
}
# Processes, and the samples of each: as many everywhere, an uneven last batch, and one with nothing left.
SPLITS = ((12, 12), (12, 11), (6, 6, 6, 6), (6, 6, 6, 5), (11, 1, 12, 0))
# How each process holds its pairs; they need not agree.
FORMS = {"listed": (1e9,) * 4, "in parts": (1e9,) * 4, "tiled": (-1,) * 4, "either": (1e9, -1, -1, 1e9)}


def batch(n: int = N) -> tuple[Tensor, Tensor, Tensor]:
    """Three classes, bias features that cluster by an attribute, inputs anywhere."""
    g = torch.Generator().manual_seed(0)
    y, attribute = torch.randint(0, 3, (2, N), generator=g)
    b = torch.eye(3, dtype=torch.float64)[attribute] + 0.1 * torch.randn(N, 3, generator=g, dtype=torch.float64)
    return b[:n], torch.randn(N, 5, generator=g, dtype=torch.float64)[:n], y[:n]


def linear() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(5, 4, dtype=torch.float64)


def measure(rank: int, sizes: tuple[int, ...]) -> dict[str, dict[str, Any]]:
    """Value, gradient and stats of every loss, by its name and the form of its kernel."""
    b, x, y = (whole.split(sizes)[rank] for whole in batch(sum(sizes)))
    results = {}
    for (name, make), (form, worth) in itertools.product(LOSSES.items(), FORMS.items()):
        listed.WORTH, listed.AT_ONCE = worth[rank], 20 if form == "in parts" else 2**20
        loss, net = make(gather=True), linear()
        value = loss(b, net(x), y)
        (gradient,) = torch.autograd.grad(value, net.weight)
        dist.all_reduce(gradient)  # what DDP does
        results[f"{name} {form}"] = {"value": value.detach(), "gradient": gradient / len(sizes), "stats": loss.stats}
    return results


def work(folder: Path, rank: int, world: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting{world}", rank=rank, world_size=world)
    results = {str(sizes): measure(rank, sizes) for sizes in SPLITS if len(sizes) == world}
    torch.save(results, folder / f"{rank} of {world}.pt")
    dist.barrier()  # nobody leaves while another still listens
    dist.destroy_process_group()


def fork(folder: Path, rank: int, world: int) -> int:
    """A process that need not import torch again."""
    if process := os.fork():
        return process
    try:
        work(folder, rank, world)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)  # all is written; gloo's threads now and then abort an interpreter that winds down


if __name__ == "__main__":
    warnings.simplefilter("error")
    for world in sorted({len(sizes) for sizes in SPLITS}):
        workers = [fork(Path(sys.argv[1]), rank, world) for rank in range(world)]
        if any(os.waitpid(worker, 0)[1] for worker in workers):
            sys.exit(1)
