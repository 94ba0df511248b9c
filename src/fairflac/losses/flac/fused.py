"""FLAC's loss and its gradient in one go; memory stays bounded whatever N is."""

from typing import Any

import torch
from torch import Tensor

from fairflac.losses.flac.batch import Result
from fairflac.losses.flac.listed import listed_flac
from fairflac.losses.flac.settings import Settings
from fairflac.losses.flac.tiled import tiled_flac


@torch.inference_mode()  # what torch does around its operations takes as long as they do in a small batch
def fused_flac(bias: Tensor, features: Tensor, y: Tensor, settings: Settings) -> Result:
    """(N, D_b), (N, D), (N,) → value and gradient in `features` (Eq. 1-6)."""
    listed = listed_flac(bias.numpy(), features.numpy(), y.numpy(), settings) if features.is_cpu else None
    return listed or tiled_flac(bias, features, y, settings)


class WithGradient(torch.autograd.Function):
    """A value whose gradient is known already."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, result: Result) -> Tensor:
        ctx.gradient = result.gradient
        value = result.value
        return value.clone() if isinstance(value, Tensor) else torch.scalar_tensor(value, dtype=features.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        if torch.is_grad_enabled():  # once_differentiable would take the gradient for a constant
            raise RuntimeError("FLACLoss cannot be differentiated twice; fairflac.losses.flac.dense.DenseFLACLoss can")
        return grad * ctx.gradient, None
