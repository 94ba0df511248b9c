"""Run by test_gather.py as one of two workers: FLAC's loss of half a batch each, gathered, under DDP."""

import os
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from fairflac.losses import FLACLoss
from fairflac.losses.flac import DenseFLACLoss

N = 24
LOSSES = {
    "default": lambda **options: FLACLoss(**options),
    "paper": lambda **options: FLACLoss.paper(**options),
    "dense": lambda **options: DenseFLACLoss(**options),
}


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Three classes, bias features that cluster by an attribute, inputs anywhere."""
    g = torch.Generator().manual_seed(0)
    y, attribute = torch.randint(0, 3, (2, N), generator=g)
    b = torch.eye(3, dtype=torch.float64)[attribute] + 0.1 * torch.randn(N, 3, generator=g, dtype=torch.float64)
    return b, torch.randn(N, 5, generator=g, dtype=torch.float64), y


def linear() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(5, 4, dtype=torch.float64)


def main(folder: Path, rank: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    b, x, y = (whole.chunk(2)[rank] for whole in batch())
    results = {}
    for name, make in LOSSES.items():
        loss, net = make(gather=True), DistributedDataParallel(linear())
        value = loss(b, net(x), y)
        value.backward()
        results[name] = {"value": value.detach(), "gradient": net.module.weight.grad, "pairs": loss.stats["pairs"]}
    try:
        FLACLoss(gather=True)(b[rank:], x[rank:], y[rank:])  # one sample more here than there
    except ValueError as error:
        results["uneven"] = str(error)
    torch.save(results, folder / f"{rank}.pt")
    dist.barrier()  # neither leaves while the other still listens
    dist.destroy_process_group()


if __name__ == "__main__":
    warnings.simplefilter("error")
    main(Path(sys.argv[1]), int(sys.argv[2]))
    os._exit(0)  # all is written; gloo's threads now and then abort an interpreter that winds down
