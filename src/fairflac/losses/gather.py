"""The batch of all processes, so that pair losses see every pair."""

from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor


class Share(NamedTuple):
    """The rows of a joint batch that are this process's."""

    rows: slice
    processes: int = 1

    @property
    def whole(self) -> bool:
        """Is there nobody else?"""
        return self.processes == 1

    def largest(self, x: Tensor) -> Tensor:
        """The largest of all processes, element by element, in the place of `x`."""
        dist.all_reduce(x, dist.ReduceOp.MAX)
        return x

    def summed(self, x: Tensor) -> Tensor:
        """Over all processes, in the place of `x`."""
        dist.all_reduce(x)
        return x


class _Gather(torch.autograd.Function):
    """All-gather along dimension 0 that carries gradients.

    Each process receives the sum of all processes' gradients for its own rows. Where every process computes the same
    loss on the joint batch, or W times its part of it, averaging parameter gradients afterwards gives the gradient of
    one process with the joint batch.

    torch has the same, at the same speed, but not in public: `torch.distributed.nn.functional.all_gather` is deprecated
    (torch 2.13 warns at every call), and what it points to is a private module, whose tensors are not there yet.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, sizes: list[int] | None) -> Tensor:
        ctx.sizes = sizes = sizes or [x.shape[0]] * dist.get_world_size()
        padded = x.contiguous() if x.shape[0] == max(sizes) else x.new_zeros(max(sizes), *x.shape[1:])
        if padded.shape != x.shape:  # all processes send as much
            padded[: x.shape[0]] = x
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        grad = grads[0].contiguous()
        dist.all_reduce(grad)
        start = sum(ctx.sizes[: dist.get_rank()])
        return grad[start : start + ctx.sizes[dist.get_rank()]], None


def gather(x: Tensor, sizes: list[int] | None = None) -> Tensor:
    """(B, …) on each of W processes → (W·B, …) on all of them; `x` itself when there is one process.

    `sizes`: B of each process, where they differ.
    """
    if _alone():
        return x
    gathered: Tensor = _Gather.apply(x, sizes)  # type: ignore[no-untyped-call]
    return gathered


def own_share(rows: int) -> Share:
    """Of what `gather` makes of so many rows on each process."""
    rank, processes = (0, 1) if _alone() else (dist.get_rank(), dist.get_world_size())
    return Share(slice(rank * rows, (rank + 1) * rows), processes)


def gather_batch(*tensors: Tensor) -> tuple[tuple[Tensor, ...], Share]:
    """`gather` for loops of others, whose last batch may be of another size on every process."""
    rows = tensors[0].shape[0]
    if _alone():
        return tensors, own_share(rows)
    sizes: list[int] = gather(torch.tensor([rows], device=tensors[0].device)).tolist()
    start = sum(sizes[: dist.get_rank()])
    return tuple(gather(x, sizes) for x in tensors), Share(slice(start, start + rows), len(sizes))


def neighbours(x: Tensor) -> Tensor:
    """(B, …) → (B, …) of the sample before each in the batch of all processes, with gradients.

    As batches are in random order, this is as good as another sample at random, and never the same one.
    """
    start = 0 if _alone() else dist.get_rank() * len(x)
    return gather(x).roll(1, 0)[start : start + len(x)]


def _alone() -> bool:
    return not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1
