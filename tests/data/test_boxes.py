"""Boxes of crops: inside the image, and distributed as a slow loop over single images draws them."""

import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairflac.data.pixels.augment import Draws, Purpose
from fairflac.data.pixels.resample import AREA_DRAWS, Boxes, centre_offset

N = 20_000


def uniform(count: int, n: int = N) -> np.ndarray:
    return Draws.at(seed=0, epoch=0, view=0, index=torch.arange(n)).uniform(Purpose.CROP, count)


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
    boxes = Boxes.of_random_area(uniform(AREA_DRAWS), (72, 72), scale)
    rng = random.Random(0)
    slow = np.array([slow_box(rng, 72, 72, scale) for _ in range(N)])
    ours = np.stack([boxes.top, boxes.left, boxes.height, boxes.width], axis=1)
    quantiles = np.linspace(0.05, 0.95, 10)
    for measure in (
        lambda b: b[:, 0],
        lambda b: b[:, 1],
        lambda b: b[:, 2] * b[:, 3] / 72**2,
        lambda b: b[:, 3] / b[:, 2],
    ):
        a, b = (np.quantile(measure(boxes), quantiles) for boxes in (ours, slow))
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
    draws = Draws.at(seed=seed, epoch=0, view=0, index=torch.arange(50))
    scale = (min(low, high), max(low, high))
    boxes = Boxes.of_random_area(draws.uniform(Purpose.CROP, AREA_DRAWS), (rows, columns), scale)
    assert (boxes.top >= 0).all() and (boxes.left >= 0).all()
    assert (boxes.height >= 1).all() and (boxes.width >= 1).all()
    assert (boxes.top + boxes.height <= rows).all() and (boxes.left + boxes.width <= columns).all()


def test_a_strip_that_no_box_fits_gives_the_widest_of_the_allowed_ratios() -> None:
    boxes = Boxes.of_random_area(uniform(AREA_DRAWS, 50), (12, 300), (0.9, 1.0))
    assert set(boxes.height) == {12} and set(boxes.width) == {16}


def test_shifts_are_equally_frequent() -> None:
    boxes = Boxes.shifted(uniform(2), (40, 40), (32, 32))
    for side in (boxes.top, boxes.left):
        counts = np.bincount(side)
        assert len(counts) == 9 and abs(counts - N / 9).max() < 5 * (N / 9) ** 0.5


def test_half_are_flipped() -> None:
    boxes = Boxes.centre(N, (8, 8), (6, 6))
    assert not boxes.flipped.any()
    flipped = boxes.flip(Draws.at(seed=0, epoch=0, view=0, index=torch.arange(N)).uniform(Purpose.FLIP, 1)[0]).flipped
    assert abs(flipped.mean() - 0.5) < 0.02


def test_centre() -> None:
    assert centre_offset((72, 72), (64, 64)) == (4, 4)
    assert centre_offset((7, 10), (6, 6)) == (0, 2)
