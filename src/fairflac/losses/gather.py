"""The batch of all processes, so that pair losses see every pair."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class _Gather(torch.autograd.Function):
    """All-gather along dimension 0 that carries gradients.

    Every process computes the same loss on the joint batch, so each receives the sum of all processes' gradients for
    its own rows; averaging parameter gradients afterwards gives the gradient of one process with the joint batch.

    torch has the same, at the same speed, but not in public: `torch.distributed.nn.functional.all_gather` is deprecated
    (torch 2.13 warns at every call), and what it points to is a private module, whose tensors are not there yet.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.rows = x.shape[0]
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        grad = grads[0].contiguous()
        dist.all_reduce(grad)
        start = dist.get_rank() * ctx.rows
        return grad[start : start + ctx.rows]


def gather(x: Tensor) -> Tensor:
    """(B, …) on each of W processes → (W·B, …) on all of them; `x` itself when there is one process."""
    if _alone():
        return x
    gathered: Tensor = _Gather.apply(x)  # type: ignore[no-untyped-call]
    return gathered


def gather_batch(*tensors: Tensor) -> tuple[Tensor, ...]:
    """`gather` for loops of others, which may end with batches of unequal size: that would stop or mix up processes."""
    if _alone():
        return tensors
    sizes = gather(torch.tensor([tensors[0].shape[0]], device=tensors[0].device)).tolist()
    if len({*sizes}) > 1:
        raise ValueError(
            f"every process needs a batch of the same size to gather, not {', '.join(map(str, sizes))}: leave out the "
            "last batch (drop_last=True), or pad it"
        )
    return tuple(gather(x) for x in tensors)


def neighbours(x: Tensor) -> Tensor:
    """(B, …) → (B, …) of the sample before each in the batch of all processes, with gradients.

    As batches are in random order, this is as good as another sample at random, and never the same one.
    """
    start = 0 if _alone() else dist.get_rank() * len(x)
    return gather(x).roll(1, 0)[start : start + len(x)]


def _alone() -> bool:
    return not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1
