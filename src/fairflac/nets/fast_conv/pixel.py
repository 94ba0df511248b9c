"""Convolution of maps of a few pixels: a matrix product for each run of pixels under the kernel, none for its padding.

On such maps most of a padded kernel lies outside: of nine taps on a single pixel, one matters. Libraries multiply all.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class _Run(NamedTuple):
    """Neighbours in a row of the input and the taps that meet them, for one pixel of the output."""

    pixel: tuple[int, int]
    row: int
    columns: slice
    tap_row: int
    tap_columns: slice


class _Geometry(NamedTuple):
    size: tuple[int, ...]  # of the input
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    @property
    def output(self) -> tuple[int, int]:
        h, w = ((s + 2 * p - k) // d + 1 for s, k, d, p in zip(*self, strict=True))
        return h, w

    def runs(self) -> Iterator[_Run]:
        (h, w), (kh, kw), (dh, dw), (ph, pw) = self
        rows, columns = self.output
        for i in range(rows):
            for j in range(columns):
                top, left = i * dh - ph, j * dw - pw
                first, last = max(left, 0), min(left + kw, w)
                if first < last:
                    for row in range(max(top, 0), min(top + kh, h)):
                        taps = slice(first - left, last - left)
                        yield _Run((i, j), row, slice(first, last), row - top, taps)


class _PerPixel(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, geometry: _Geometry) -> Tensor:
        """(B, H, W, C), (O, kh, kw, C) → (B, H', W', O)."""
        ctx.geometry = geometry
        ctx.save_for_backward(x, weight)
        y = x.new_zeros(len(x), *geometry.output, len(weight))
        if bias is not None:
            y += bias
        for (i, j), row, columns, tap_row, tap_columns in geometry.runs():
            y[:, i, j].addmm_(x[:, row, columns].flatten(1), weight[:, tap_row, tap_columns].flatten(1).T)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (x, weight), (for_x, for_weight, for_bias, _) = ctx.saved_tensors, ctx.needs_input_grad
        grad_x = torch.zeros_like(x) if for_x else None
        grad_weight = torch.zeros_like(weight) if for_weight else None
        for (i, j), row, columns, tap_row, tap_columns in ctx.geometry.runs():
            pixel, taps = grad[:, i, j], (slice(None), tap_row, tap_columns)
            here = (slice(None), row, columns)
            if grad_x is not None:
                grad_x[here].flatten(1).addmm_(pixel, weight[taps].flatten(1))
            if grad_weight is not None:
                grad_weight[taps].flatten(1).addmm_(pixel.T, x[here].flatten(1))
        return grad_x, grad_weight, grad.sum((0, 1, 2)) if for_bias else None, None


def pixel_conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: tuple[int, ...], padding: tuple[int, ...]
) -> Tensor:
    """`F.conv2d` with zero padding; channels-last, and differentiable once."""
    geometry = _Geometry(x.shape[2:], weight.shape[2:], stride, padding)
    last = (t.permute(0, 2, 3, 1).contiguous() for t in (x, weight))
    y: Tensor = _PerPixel.apply(*last, bias, geometry)  # type: ignore[no-untyped-call]
    return y.permute(0, 3, 1, 2)
