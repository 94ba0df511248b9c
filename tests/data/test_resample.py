"""Crops: cut, stretched and turned as torch and PIL do it, and drawn as a slow loop over single images draws them."""

import math
import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fairflac.data.pixels.augment import Purpose, RandomNumbers, unit_floats
from fairflac.data.pixels.resample import AREA_NUMBERS, Crops, centre_offset, cut, resize, rotate

CROPS = Crops(
    top=np.array([0, 5, 3, 0]),
    left=np.array([0, 2, 9, 0]),
    height=np.array([20, 7, 11, 1]),
    width=np.array([24, 9, 8, 1]),
    flipped=np.array([False, True, False, True]),
)


def noise(count: int = 4) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (count, 20, 24, 3), dtype=np.uint8))


def smooth() -> np.ndarray:
    """Without edges, on which two ways to interpolate would differ by more than rounding."""
    y, x = np.mgrid[0:32, 0:32] / 31
    return np.stack([255 * x, 255 * y, 127 + 120 * np.sin(3 * x + 2 * y)], axis=2).astype(np.uint8)


def test_cuts_are_slices() -> None:
    raw = noise()
    crops = Crops(CROPS.top, CROPS.left, np.full(4, 6), np.full(4, 5), CROPS.flipped)
    for image, one, top, left, flipped in zip(
        raw, cut(raw, crops, (6, 5)), crops.top, crops.left, crops.flipped, strict=True
    ):
        piece = image[top : top + 6, left : left + 5]
        assert torch.equal(one, piece.flip(1) if flipped else piece)


def test_resized_boxes_are_interpolated_slices() -> None:
    x = unit_floats(noise())
    ours = resize(x, CROPS, (16, 18))
    assert ours.shape == (4, 3, 16, 18)
    for i in range(4):
        top, left, height, width = (int(side[i]) for side in (CROPS.top, CROPS.left, CROPS.height, CROPS.width))
        piece = x[i : i + 1, :, top : top + height, left : left + width].contiguous()
        expected = F.interpolate(piece, (16, 18), mode="bilinear", align_corners=False)[0]
        torch.testing.assert_close(ours[i], expected.flip(2) if CROPS.flipped[i] else expected, rtol=0, atol=1e-5)


def test_enlarged_boxes_are_those_of_pil() -> None:
    image = noise(1)
    crops = Crops(np.array([3]), np.array([2]), np.array([9]), np.array([12]), np.array([False]))
    ours = 255 * resize(unit_floats(image), crops, (16, 16))[0].permute(1, 2, 0)
    pil = Image.fromarray(image[0].numpy()).crop((2, 3, 14, 12)).resize((16, 16), Image.Resampling.BILINEAR)
    assert np.abs(ours.numpy() - np.asarray(pil)).max() <= 1


def test_quarter_turns_are_exact() -> None:
    x = unit_floats(noise()[:, :, :20])
    for turns in (-1, 0, 1, 2):
        turned = rotate(x, np.full(4, 90.0 * turns))
        torch.testing.assert_close(turned, torch.rot90(x, turns, (2, 3)), rtol=0, atol=2e-5)


@pytest.mark.parametrize("degrees", [-20.0, 7.5, 20.0])
def test_rotations_are_those_of_pil(degrees: float) -> None:
    image = smooth()
    ours = 255 * rotate(unit_floats(torch.from_numpy(image)[None]), np.array([degrees]))[0].permute(1, 2, 0)
    pil = np.asarray(Image.fromarray(image).rotate(degrees, Image.Resampling.BILINEAR))
    inside = np.hypot(*(np.mgrid[0:32, 0:32] - 15.5)) < 14  # PIL and torch shade the edge of the image differently
    assert np.abs(ours.numpy() - pil)[inside].max() <= 1.5
    assert (ours[0, 0] == 0).all() and (ours[31, 31] == 0).all()  # nothing was there


def test_places_are_exact_under_autocast() -> None:
    x = unit_floats(noise())
    plain = resize(x, CROPS, (16, 18)), rotate(x, np.full(4, 13.0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        reduced = resize(x, CROPS, (16, 18)), rotate(x, np.full(4, 13.0))
    assert all(torch.equal(a, b) for a, b in zip(plain, reduced, strict=True))


N = 20_000


def uniform(count: int, n: int = N) -> np.ndarray:
    return RandomNumbers.at(seed=0, epoch=0, view=0, index=torch.arange(n)).uniform(Purpose.CROP, count)


def slow_box(rng: random.Random, rows: int, columns: int, scale: tuple[float, float]) -> tuple[int, int, int, int]:
    """Top, left, height and width of a random resized crop, one attempt after another."""
    for _ in range(10):
        area = rows * columns * rng.uniform(*scale)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < width <= columns and 0 < height <= rows:
            return rng.randint(0, rows - height), rng.randint(0, columns - width), height, width
    raise AssertionError("never for a square image")


@pytest.mark.parametrize("scale", [(0.08, 1.0), (0.2, 1.0)])
def test_random_areas_are_distributed_as_one_by_one(scale: tuple[float, float]) -> None:
    crops = Crops.of_random_area(uniform(AREA_NUMBERS), (72, 72), scale)
    rng = random.Random(0)
    slow = np.array([slow_box(rng, 72, 72, scale) for _ in range(N)])
    ours = np.stack([crops.top, crops.left, crops.height, crops.width], axis=1)
    quantiles = np.linspace(0.05, 0.95, 10)
    for measure in (
        lambda b: b[:, 0],
        lambda b: b[:, 1],
        lambda b: b[:, 2] * b[:, 3] / 72**2,
        lambda b: b[:, 3] / b[:, 2],
    ):
        a, b = (np.quantile(measure(crops), quantiles) for crops in (ours, slow))
        np.testing.assert_allclose(a, b, rtol=0.03, atol=1)
    share, ratio = ours[:, 2] * ours[:, 3] / 72**2, ours[:, 3] / ours[:, 2]
    assert share.min() > scale[0] * 0.95 and share.max() <= 1  # whole pixels blur the limits
    assert ratio.min() > 0.7 and ratio.max() < 1.43
    assert abs(share.mean() - (slow[:, 2] * slow[:, 3] / 72**2).mean()) < 0.01


@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 40),
    low=st.floats(0.01, 1),
    high=st.floats(0.01, 1),
    seed=st.integers(0, 1000),
)
def test_boxes_lie_inside_any_image(rows: int, columns: int, low: float, high: float, seed: int) -> None:
    numbers = RandomNumbers.at(seed=seed, epoch=0, view=0, index=torch.arange(50))
    scale = (min(low, high), max(low, high))
    crops = Crops.of_random_area(numbers.uniform(Purpose.CROP, AREA_NUMBERS), (rows, columns), scale)
    assert (crops.top >= 0).all() and (crops.left >= 0).all()
    assert (crops.height >= 1).all() and (crops.width >= 1).all()
    assert (crops.top + crops.height <= rows).all() and (crops.left + crops.width <= columns).all()


def test_a_strip_that_no_box_fits_gives_the_widest_of_the_allowed_ratios() -> None:
    crops = Crops.of_random_area(uniform(AREA_NUMBERS, 50), (12, 300), (0.9, 1.0))
    assert set(crops.height) == {12} and set(crops.width) == {16}


def test_shifts_are_equally_frequent() -> None:
    crops = Crops.shifted(uniform(2), (40, 40), (32, 32))
    for side in (crops.top, crops.left):
        counts = np.bincount(side)
        assert len(counts) == 9 and abs(counts - N / 9).max() < 5 * (N / 9) ** 0.5


def test_half_are_flipped() -> None:
    crops = Crops.centre(N, (8, 8), (6, 6))
    assert not crops.flipped.any()
    flipped = crops.flip(
        RandomNumbers.at(seed=0, epoch=0, view=0, index=torch.arange(N)).uniform(Purpose.FLIP, 1)[0]
    ).flipped
    assert abs(flipped.mean() - 0.5) < 0.02


def test_centre() -> None:
    assert centre_offset((72, 72), (64, 64)) == (4, 4)
    assert centre_offset((7, 10), (6, 6)) == (0, 2)
