"""A convolution that goes the fastest way there is on a CPU."""

import math
import os
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
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


WIDE = 16  # channels; narrower matrices leave the vector units idle
MOVE = 40  # measured: to write and read a number of a spectrum takes as long as so many multiplications
BOUND = 256 << 20  # bytes for the spectra of one part of a batch, and the most that those of a kernel may take

_memory = threading.local()


def _frequencies(h: int, w: int, kh: int, kw: int) -> tuple[int, int]:
    """Those of a period of h + kh // 2 and w + kw // 2; half of the vertical ones suffice, as maps are real."""
    return (h + kh // 2) // 2 + 1, w + kw // 2


def _scratch(role: str, *shape: int, like: Tensor) -> Tensor:
    """Working memory that stays from call to call: fresh pages from the system cost as much as the arithmetic."""
    buffers: dict[str, Tensor] = _memory.__dict__  # of this thread
    key, size = f"{role} {like.dtype} {like.device}", math.prod(shape)
    if key not in buffers or buffers[key].numel() < size:
        with torch.inference_mode(False):  # or training could not write to what an evaluation has left
            buffers[key] = torch.empty(size, dtype=like.dtype, device=like.device)
    return buffers[key][:size].view(shape)


def _apply(matrix: Tensor, x: Tensor, role: str | None) -> Tensor:
    """The matrix times each item of x, a batch of matrices, in the scratch memory of a role or in fresh memory."""
    shape = len(x), len(matrix), x.shape[2]
    out = x.new_empty(shape) if role is None else _scratch(role, *shape, like=x)
    return torch.bmm(matrix.expand(len(x), -1, -1), x, out=out)  # with `out`, autocast keeps its hands off


class _Plan(NamedTuple):
    """The DFTs for one size of map and kernel. A spectrum has the real parts of its channels, then the imaginary."""

    f: int
    n: int
    map_rows: Tensor  # (2F, H), real → complex
    map_columns: Tensor  # (2N, 2W), complex → complex
    kernel_rows: Tensor  # (4F, k), real → complex, and i times the same; scaled for the way back
    kernel_columns: Tensor  # (2N, 2k), complex → complex

    def analyse(self, maps: Tensor, keep: bool = False) -> Tensor:
        """A x: (B, H, W, C) → (B, FN, 2C), in memory of its own if it is to be kept."""
        b, h, w, c = maps.shape
        rows = _apply(self.map_rows, maps.view(b, h, w * c), "rows")
        spectra = _apply(self.map_columns, rows.view(b * self.f, 2 * w, c), None if keep else "spectra")
        return spectra.view(b, self.f * self.n, 2 * c)

    def synthesise(self, spectra: Tensor) -> Tensor:
        """Aᵀ: (B, FN, 2C) → (B, H, W, C)."""
        b, h, w, c = len(spectra), self.map_rows.shape[1], self.map_columns.shape[1] // 2, spectra.shape[2] // 2
        rows = _apply(self.map_columns.mT, spectra.view(b * self.f, 2 * self.n, c), "rows").view(b, 2 * self.f, w * c)
        maps = spectra.new_empty(b, h, w, c)  # and not a view, or autograd would forbid to change it in place
        torch.bmm(self.map_rows.mT.expand(b, -1, -1), rows, out=maps.view(b, h, w * c))
        return maps

    def multiply(self, spectra: Tensor, kernel: Tensor) -> Tensor:
        """(B, FN, 2C), (FN, 2C, 2O) → (B, FN, 2O). Overwrites spectra that are not kept."""
        b, p, o = len(spectra), len(kernel), kernel.shape[2]
        # BLAS takes all frequencies in one call only if they come out one after the other; the way back is by image.
        product = torch.bmm(spectra.transpose(0, 1), kernel, out=_scratch("product", p, b, o, like=spectra))
        return _scratch("spectra", b, p, o, like=spectra).copy_(product.transpose(0, 1))

    def kernel(self, weight: Tensor) -> Tensor:
        """Q w: (O, C, k, k) → (FN, 2C, 2O), at each frequency the complex product with conj(ŵ) as a real matrix."""
        o, c, kh, kw = weight.shape
        rows = _apply(self.kernel_rows, weight.permute(2, 3, 1, 0).reshape(1, kh, -1), "rows")
        rows = rows.view(2, self.f, 2 * kw, c, o).permute(1, 2, 3, 0, 4).reshape(self.f, 2 * kw, -1)
        return _apply(self.kernel_columns, rows, "kernel").view(self.f * self.n, 2 * c, 2 * o)

    def kernel_gradient(self, maps: Tensor, grads: Tensor, weight: Tensor) -> Tensor:
        """Qᵀ[(A x)ᵀ(A ∂y)]: (B, FN, 2C), (B, FN, 2O) → (O, C, k, k)."""
        o, c, kh, kw = weight.shape
        product = _scratch("product", self.f * self.n, 2 * c, 2 * o, like=maps)
        torch.bmm(maps.permute(1, 2, 0), grads.transpose(0, 1), out=product)
        rows = _apply(self.kernel_columns.mT, product.view(self.f, 2 * self.n, -1), "rows")
        rows = rows.view(self.f, 2 * kw, c, 2, o).permute(3, 0, 1, 2, 4).reshape(1, 4 * self.f, -1)
        return _apply(self.kernel_rows.mT, rows, None).view(kh, kw, c, o).permute(3, 2, 0, 1)


@cache
def _plan(height: int, width: int, kh: int, kw: int, dtype: torch.dtype, device: torch.device) -> _Plan:
    def waves(frequencies: int, size: int, first: int, period: int) -> Tensor:
        turns = torch.outer(torch.arange(frequencies), torch.arange(first, first + size)) % period  # integers: exact
        return torch.exp(turns.double() * (-2j * math.pi / period))

    def pairs(z: Tensor) -> Tensor:
        return torch.stack([z.real, z.imag], 1).flatten(0, 1).to(device, dtype)

    def both(z: Tensor, dim: int) -> Tensor:
        return torch.cat([pairs(z), pairs(1j * z)], dim)

    (f, n), period = _frequencies(height, width, kh, kw), height + kh // 2
    with torch.inference_mode(False):
        rows = waves(f, kh, -(kh // 2), period) / (period * n)
        rows[1 : (period + 1) // 2] *= 2  # a frequency stands for its negative too, unless it is its own
        map_columns, kernel_columns = waves(n, width, 0, n), waves(n, kw, -(kw // 2), n)
        map_rows = pairs(waves(f, height, 0, period))
        return _Plan(f, n, map_rows, both(map_columns, 1), both(rows, 0), both(kernel_columns, 1))


class _Spectral(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, maps: Tensor, weight: Tensor, bias: Tensor | None, learns: bool) -> Tensor:
        ctx.plan = plan = _plan(*maps.shape[1:3], *weight.shape[2:], maps.dtype, maps.device)
        spectra = plan.analyse(maps, keep=learns)
        product = plan.multiply(spectra, plan.kernel(weight))
        if bias is not None:
            product[:, 0, : len(bias)] += bias  # a constant is the frequency 0
        ctx.save_for_backward(spectra if learns else None, weight)
        return plan.synthesise(product)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (maps, weight), (for_maps, for_weight, for_bias, _), plan = ctx.saved_tensors, ctx.needs_input_grad, ctx.plan
        spectra = plan.analyse(grad.contiguous())
        grad_bias = spectra[:, 0, : len(weight)].sum(0) if for_bias else None
        grad_weight = plan.kernel_gradient(maps, spectra, weight) if for_weight else None
        grad_maps = plan.synthesise(plan.multiply(spectra, plan.kernel(weight).mT)) if for_maps else None
        return grad_maps, grad_weight, grad_bias, None


def spectral_conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.conv2d` with stride 1, an odd kernel and 'same' zero padding; channels-last, and differentiable once."""
    if any(size % 2 == 0 for size in weight.shape[2:]):
        raise ValueError("'same' convolution needs a kernel of odd size")
    (f, n), channels = _frequencies(*x.shape[2:], *weight.shape[2:]), max(weight.shape[:2])
    images = BOUND // (3 * 2 * f * n * channels * x.element_size())  # three tensors: rows, spectra and product
    learns = weight.requires_grad and torch.is_grad_enabled()
    parts = x.permute(0, 2, 3, 1).contiguous().split(max(1, images))
    y = [_Spectral.apply(part, weight, bias, learns) for part in parts]  # type: ignore[no-untyped-call]
    return (torch.cat(y) if len(y) > 1 else y[0]).permute(0, 3, 1, 2)


def spectral_pays(x: torch.Size, weight: torch.Size) -> bool:
    """Whether the multiplications of the spectral way, and its moves of numbers, cost less than those of the direct."""
    (b, c, h, w), (o, _, kh, kw) = x, weight
    f, n = _frequencies(h, w, kh, kw)
    kernel = 4 * f * n * c * o  # numbers in its spectrum, and multiplications per image
    multiplications = b * (c + o) * (2 * f * h * w + 4 * f * n * w) + (2 * kw + b) * kernel
    moves = 2 * f * n * (c + o) * b + kernel
    wide = min(c, o) >= WIDE and min(kh, kw) >= 3
    return wide and 4 * kernel <= BOUND and multiplications + MOVE * moves < b * h * w * kh * kw * c * o


# Of the output, up to which a product for each is faster than what libraries do (measured: 1.1x at 9, 34x at 1).
FEW_PIXELS = 9
VARIABLE = "FAIRFLAC_FAST_CONV"  # "0" in the environment: torch's own convolution everywhere


class FastConv2d(nn.Conv2d):
    """`nn.Conv2d`, with the same parameters and results: by pixels on tiny maps, by frequencies for large kernels.

    With `FAIRFLAC_FAST_CONV=0` in the environment it is `nn.Conv2d` and nothing else: to compare, or to get around a
    fault. Results differ by rounding alone.
    """

    def forward(self, x: Tensor) -> Tensor:
        if self.goes_by_pixels(x):
            assert not isinstance(self.padding, str)
            return pixel_conv2d(x, self.weight, self.bias, self.stride, self.padding)
        if self.goes_by_frequencies(x):
            return spectral_conv2d(x, self.weight, self.bias)
        return super().forward(x)

    def goes_by_pixels(self, x: Tensor) -> bool:
        if not self._plain(x) or isinstance(self.padding, str):
            return False
        sizes = zip(x.shape[2:], self.kernel_size, self.stride, self.padding, strict=True)
        rows, columns = ((size + 2 * padding - kernel) // stride + 1 for size, kernel, stride, padding in sizes)
        wide = min(self.in_channels, self.out_channels) >= WIDE
        return wide and max(self.kernel_size) > 1 and 0 < rows * columns <= FEW_PIXELS

    def goes_by_frequencies(self, x: Tensor) -> bool:
        odd = all(size % 2 for size in self.kernel_size)
        same = odd and self.padding in ("same", tuple(size // 2 for size in self.kernel_size))
        gains = min(self.kernel_size) >= 5 or torch.is_grad_enabled()  # small kernels gain in the backward pass only
        whole = same and gains and self.stride == (1, 1)
        return whole and self._plain(x) and spectral_pays(x.shape, self.weight.shape)

    def _plain(self, x: Tensor) -> bool:
        plain = self.dilation == (1, 1) and self.groups == 1 and self.padding_mode == "zeros"
        single = x.dtype == self.weight.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        wanted = os.environ.get(VARIABLE) != "0"
        return wanted and plain and single and x.device.type == "cpu" and x.dim() == 4
