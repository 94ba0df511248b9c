"""Changes of colour against PIL and the standard library."""

import colorsys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance
from torch import Tensor

from fairflac.data.pixels import augment as jitter

STRENGTHS = (0.0, 0.6, 1.0, 1.4)


def images(count: int = len(STRENGTHS)) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, 9, 7, 3), dtype=np.uint8)


def floats(raw: np.ndarray) -> Tensor:
    return torch.from_numpy(raw).permute(0, 3, 1, 2).float() / 255


@pytest.mark.parametrize(
    ("ours", "pil"),
    [
        (jitter.brightness, ImageEnhance.Brightness),
        (jitter.contrast, ImageEnhance.Contrast),
        (jitter.saturation, ImageEnhance.Color),
    ],
)
def test_each_image_is_enhanced_as_by_pil(
    ours: Callable[[Tensor, Tensor], Tensor], pil: Callable[[Image.Image], ImageEnhance._Enhance]
) -> None:
    raw = images()
    changed = 255 * ours(floats(raw), torch.tensor(STRENGTHS)).permute(0, 2, 3, 1)
    for i, strength in enumerate(STRENGTHS):
        expected = np.asarray(pil(Image.fromarray(raw[i])).enhance(strength))
        assert np.abs(changed[i].numpy() - expected).max() < 1.5  # PIL rounds to whole levels, twice


def test_grey_is_that_of_pil() -> None:
    raw = images()
    ours = 255 * jitter.grey(floats(raw))[:, 0]
    for i in range(len(raw)):
        assert np.abs(ours[i].numpy() - np.asarray(Image.fromarray(raw[i]).convert("L"))).max() <= 1


colour = st.tuples(*[st.integers(0, 255)] * 3)


@given(pixels=st.lists(colour, min_size=1, max_size=8), turn=st.floats(-0.5, 0.5, width=32))
def test_hue_is_that_of_the_standard_library(pixels: list[tuple[int, int, int]], turn: float) -> None:
    x = torch.tensor(pixels, dtype=torch.float32)[:, :, None, None] / 255
    turned = jitter.hue(x, torch.full((len(pixels),), turn))[:, :, 0, 0]
    for before, after in zip(pixels, turned, strict=True):
        h, s, v = colorsys.rgb_to_hsv(*(value / 255 for value in before))
        assert after.tolist() == pytest.approx(colorsys.hsv_to_rgb((h + turn) % 1, s, v), abs=1e-5)


def test_no_strength_changes_nothing() -> None:
    x = floats(images())
    one, zero = torch.ones(len(x)), torch.zeros(len(x))
    for change in (jitter.brightness, jitter.contrast, jitter.saturation):
        torch.testing.assert_close(change(x, one), x)
    torch.testing.assert_close(jitter.hue(x, zero), x)
    torch.testing.assert_close(jitter.hue(jitter.hue(x, one / 3), -one / 3), x)


@given(strength=st.floats(0, 2, width=32), turn=st.floats(-0.5, 0.5, width=32))
def test_colours_stay_in_range_and_inputs_as_they_are(strength: float, turn: float) -> None:
    x = floats(images())
    before, factor = x.clone(), torch.full((len(x),), strength)
    results = [change(x, factor) for change in (jitter.brightness, jitter.contrast, jitter.saturation)]
    results.append(jitter.hue(x, torch.full((len(x),), turn)))
    assert all(result.min() >= 0 and result.max() <= 1 for result in results)
    assert torch.equal(x, before)
