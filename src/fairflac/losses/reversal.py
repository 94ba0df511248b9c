"""Gradient reversal: what comes after learns, and what comes before unlearns it."""

from typing import Any

import torch
from torch import Tensor


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return -ctx.factor * grads[0], None


def reverse_gradient(x: Tensor, factor: float = 1.0) -> Tensor:
    """`x` itself, whose gradient is multiplied by -factor (Ganin and Lempitsky, ICML 2015)."""
    reversed_: Tensor = _Reverse.apply(x, factor)  # type: ignore[no-untyped-call]
    return reversed_
