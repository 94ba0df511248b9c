"""Which way a convolution goes, and that all ways give what torch's own convolution gives."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import conv2d

from fairflac.nets.fast_conv import FEW_PIXELS, FastConv2d, pixel_conv2d, spectral_conv2d


def images(b: int = 32, c: int = 16, size: int = 16) -> Tensor:
    """For a 7 x 7 kernel the spectral way."""
    return torch.randn(b, c, size, size, generator=torch.Generator().manual_seed(0))


def test_states_go_both_ways() -> None:
    torch.manual_seed(0)
    mine = FastConv2d(16, 16, 7, padding=3)
    torch.manual_seed(0)
    theirs = nn.Conv2d(16, 16, 7, padding=3)
    assert all(torch.equal(a, b) for a, b in zip(mine.parameters(), theirs.parameters(), strict=True))
    theirs.load_state_dict(FastConv2d(16, 16, 7, padding=3).state_dict())
    mine.load_state_dict(theirs.state_dict())
    x = images()
    assert mine.goes_by_frequencies(x)
    torch.testing.assert_close(mine(x), theirs(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [{"stride": 2}, {"padding": 0}, {"dilation": 2}, {"groups": 2}, {"padding_mode": "circular"}, {"kernel_size": 1}],
)
def test_the_ordinary_way_for_other_convolutions(options: dict[str, Any]) -> None:
    conv = FastConv2d(**{"in_channels": 16, "out_channels": 16, "kernel_size": 7, "padding": 3, **options})
    assert not conv.goes_by_frequencies(images())


def test_the_ordinary_way_in_mixed_precision_double_and_without_a_batch() -> None:
    conv, x = FastConv2d(16, 16, 7, padding="same"), images()
    assert conv.goes_by_frequencies(x) and not conv.goes_by_frequencies(x[0])
    assert not conv.double().goes_by_frequencies(x.double())
    with torch.autocast("cpu", torch.bfloat16):
        assert not conv.float().goes_by_frequencies(x) and conv(x).dtype == torch.bfloat16
        y = spectral_conv2d(x, conv.weight)  # called by name, it keeps its precision
    torch.testing.assert_close(y, nn.functional.conv2d(x, conv.weight, padding=3), rtol=1e-4, atol=1e-4)


def test_small_kernels_gain_in_training_only() -> None:
    conv, x = FastConv2d(128, 128, 3, padding=1), torch.zeros(128, 128, 8, 8)
    assert conv.goes_by_frequencies(x)
    with torch.no_grad():
        assert not conv.goes_by_frequencies(x)


@pytest.mark.parametrize(("size", "stride", "pixels"), [(1, 1, True), (3, 1, True), (4, 1, False), (6, 2, True)])
def test_by_pixels_where_they_are_few(size: int, stride: int, pixels: bool) -> None:
    conv, theirs = FastConv2d(16, 32, 3, stride=stride, padding=1), nn.Conv2d(16, 32, 3, stride=stride, padding=1)
    conv.load_state_dict(theirs.state_dict())
    x = images(4, 16, size)
    assert conv.goes_by_pixels(x) == pixels and FEW_PIXELS == 9
    torch.testing.assert_close(conv(x), theirs(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"kernel_size": 1, "padding": 0}, {"groups": 2}, {"dilation": 2}, {"padding": "same"}]
)
def test_not_by_pixels(options: dict[str, Any]) -> None:
    conv = FastConv2d(**{"in_channels": 16, "out_channels": 16, "kernel_size": 3, "padding": 1, **options})
    assert not conv.goes_by_pixels(images(2, 16, 2))
    with torch.autocast("cpu", torch.bfloat16):
        assert not FastConv2d(16, 16, 3, padding=1).goes_by_pixels(images(2, 16, 2))


@pytest.mark.parametrize(("kernel", "size"), [(7, 16), (3, 2)], ids=["by frequencies", "by pixels"])
def test_the_switch_leaves_torchs_own_convolution(kernel: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    conv, x = FastConv2d(16, 16, kernel, padding=kernel // 2), images(size=size)
    assert conv.goes_by_frequencies(x) or conv.goes_by_pixels(x)
    fast = conv(x)
    (fast_grad,) = torch.autograd.grad(fast.square().sum(), conv.weight)
    monkeypatch.setenv("FAIRFLAC_FAST_CONV", "0")
    assert not conv.goes_by_frequencies(x) and not conv.goes_by_pixels(x)
    plain = conv(x)
    assert torch.equal(plain, conv2d(x, conv.weight, conv.bias, padding=kernel // 2))
    torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-4)
    (plain_grad,) = torch.autograd.grad(plain.square().sum(), conv.weight)
    torch.testing.assert_close(fast_grad, plain_grad, rtol=1e-3, atol=1e-2)


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
