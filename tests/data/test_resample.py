"""Cutting, stretching and turning against slices, torch's interpolation and PIL."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from fairflac.data.pixels.augment import unit_floats
from fairflac.data.pixels.resample import Boxes, cut, resize, rotate

BOXES = Boxes(
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
    boxes = Boxes(BOXES.top, BOXES.left, np.full(4, 6), np.full(4, 5), BOXES.flipped)
    for image, one, top, left, flipped in zip(
        raw, cut(raw, boxes, (6, 5)), boxes.top, boxes.left, boxes.flipped, strict=True
    ):
        piece = image[top : top + 6, left : left + 5]
        assert torch.equal(one, piece.flip(1) if flipped else piece)


def test_resized_boxes_are_interpolated_slices() -> None:
    x = unit_floats(noise())
    ours = resize(x, BOXES, (16, 18))
    assert ours.shape == (4, 3, 16, 18)
    for i in range(4):
        top, left, height, width = (int(side[i]) for side in (BOXES.top, BOXES.left, BOXES.height, BOXES.width))
        piece = x[i : i + 1, :, top : top + height, left : left + width].contiguous()
        expected = F.interpolate(piece, (16, 18), mode="bilinear", align_corners=False)[0]
        torch.testing.assert_close(ours[i], expected.flip(2) if BOXES.flipped[i] else expected, rtol=0, atol=1e-5)


def test_enlarged_boxes_are_those_of_pil() -> None:
    image = noise(1)
    boxes = Boxes(np.array([3]), np.array([2]), np.array([9]), np.array([12]), np.array([False]))
    ours = 255 * resize(unit_floats(image), boxes, (16, 16))[0].permute(1, 2, 0)
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
    plain = resize(x, BOXES, (16, 18)), rotate(x, np.full(4, 13.0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        reduced = resize(x, BOXES, (16, 18)), rotate(x, np.full(4, 13.0))
    assert all(torch.equal(a, b) for a, b in zip(plain, reduced, strict=True))
