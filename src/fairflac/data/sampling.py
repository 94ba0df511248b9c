"""Which samples make up each batch of an epoch: a function of (seed, epoch, rank) and nothing else."""

import torch
from torch import Tensor


def epoch_batches(
    n: int,
    batch_size: int,
    *,
    seed: int,
    epoch: int,
    rank: int = 0,
    world: int = 1,
    weights: Tensor | None = None,
) -> Tensor:
    """(steps, batch_size / world) indices for one process.

    The last incomplete batch is left out, because pair losses on a few samples are noise. All processes cut the same
    shuffled order, so that together they see the batches that one process would see alone. With (N,) weights the
    samples of an epoch are drawn with replacement.
    """
    batch_size = min(batch_size, n - n % world)  # a set smaller than a batch is one batch
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    if weights is None:
        order = torch.randperm(n, generator=generator)
    else:  # by hand: torch.multinomial takes no more than 2^24 samples
        ends = weights.double().cpu().cumsum(0)
        order = torch.searchsorted(ends, torch.rand(n, dtype=torch.float64, generator=generator) * ends[-1], right=True)
    steps = n // batch_size
    share = batch_size // world
    return order[: steps * batch_size].view(steps, world, share)[:, rank]
