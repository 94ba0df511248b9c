"""Compared with torch's own convolution, output and gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import conv2d

from fairflac.nets.fast_conv import pixel_conv2d

small = st.integers(1, 4)


@given(st.tuples(small, small, small, small, small), st.tuples(small, small), st.tuples(small, small), st.booleans())
@settings(deadline=None, max_examples=80)
def test_any_shape(sizes: tuple[int, ...], kernel: tuple[int, int], stride: tuple[int, int], with_bias: bool) -> None:
    b, c, o, h, w = sizes
    padding = (kernel[0] // 2, kernel[1] // 2)
    generator = torch.Generator().manual_seed(0)
    x, weight, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in ((b, c, h, w), (o, c, *kernel), (o,))
    )
    inputs = (x, weight, bias) if with_bias else (x, weight)
    y = pixel_conv2d(x, weight, bias if with_bias else None, stride, padding)
    expected = conv2d(x, weight, bias if with_bias else None, stride, padding)
    torch.testing.assert_close(y, expected)
    grad = torch.randn(y.shape, generator=generator, dtype=torch.float64)
    for mine, theirs in zip(
        torch.autograd.grad(y, inputs, grad), torch.autograd.grad(expected, inputs, grad), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


def test_gradcheck() -> None:
    x, weight = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3, 2, 2), (4, 3, 3, 3)))
    assert torch.autograd.gradcheck(lambda a, b: pixel_conv2d(a, b, None, (1, 1), (1, 1)), (x, weight))


def test_memory_layout_follows_the_channels() -> None:
    x, weight = torch.randn(2, 16, 2, 2), torch.randn(8, 16, 3, 3)
    assert pixel_conv2d(x, weight, None, (1, 1), (1, 1)).is_contiguous(memory_format=torch.channels_last)


def test_only_what_is_asked_for_is_computed() -> None:
    x, weight = torch.randn(2, 3, 2, 2), torch.randn(4, 3, 3, 3, requires_grad=True)
    pixel_conv2d(x, weight, None, (1, 1), (1, 1)).sum().backward()
    assert weight.grad is not None and x.grad is None


def test_differentiable_once() -> None:
    x = torch.randn(2, 3, 2, 2, requires_grad=True)
    y = pixel_conv2d(x, torch.randn(4, 3, 3, 3, requires_grad=True), None, (1, 1), (1, 1))
    (grad,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError):
        grad.sum().backward()
