"""FLAC's loss and its gradient in one go, in closed form; memory stays bounded whatever N is.

Read `textbook.py` first: the formulas are the same. `fused_flac` lists the pairs of S where they are few (`listed.py`,
on the CPU) and masks tiles of the N × N matrix elsewhere (`tiled.py`); `problem.py` is what both share.

With several processes each computes its own rows of the N × N matrix, its `Share`: a row's distribution (Eq. 3, 4)
needs nobody else, the threshold and the sums of all rows are a few numbers, and a row's pull on other samples reaches
them when gradients are added up. Nothing here waits for a device: what depends on values stays there.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairflac.losses.flac.listed import listed_flac
from fairflac.losses.flac.problem import PairProblem, Result
from fairflac.losses.flac.textbook import Settings
from fairflac.losses.flac.tiled import tiled_flac
from fairflac.losses.gather import Share


@np.errstate(all="ignore")  # what is not finite is an error already
@torch.inference_mode()  # what torch does around its operations takes as long as they do in a small batch
def fused_flac(bias: Tensor, features: Tensor, y: Tensor, settings: Settings, share: Share | None = None) -> Result:
    """(N, D_b), (N, D), (N,) → value and gradient in `features` (Eq. 1-6), from the rows of `share` or from all."""
    limits = None
    if features.is_cpu:
        batch = PairProblem(bias.numpy(), features.numpy(), y.numpy(), settings, share)
        sums, limits = listed_flac(batch), batch.limits
        if sums is not None:
            return batch.result(sums)
    batch = PairProblem(bias, features, y, settings, share, limits)
    return batch.result(tiled_flac(batch))


class WithGradient(torch.autograd.Function):
    """A value whose gradient is known already."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, result: Result) -> Tensor:
        ctx.gradient, value, dtype = result.gradient, result.value, features.dtype
        return value.to(dtype, copy=True) if isinstance(value, Tensor) else torch.scalar_tensor(value, dtype=dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        if torch.is_grad_enabled():  # once_differentiable would take the gradient for a constant
            raise RuntimeError("FLACLoss cannot be differentiated twice; fairflac.losses.DenseFLACLoss can")
        return grad * ctx.gradient, None
