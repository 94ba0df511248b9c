"""Which way a convolution goes, and that all ways give the same."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fairflac.nets.fast_conv import FEW_PIXELS, FastConv2d, spectral_conv2d


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
