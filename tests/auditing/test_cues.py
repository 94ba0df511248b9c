"""What is exchanged changes, and nothing else does."""

import numpy as np
import pytest

from fairflac.auditing.cues import CUES, border, brightness, colours, corner, detail


@pytest.fixture
def own() -> np.ndarray:
    return np.random.default_rng(0).integers(40, 140, (3, 16, 24, 3), dtype=np.uint8)


@pytest.fixture
def other() -> np.ndarray:
    return np.random.default_rng(1).integers(90, 200, (3, 16, 24, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", CUES)
def test_an_image_has_its_own_cues_and_nothing_is_written_to(name: str, own: np.ndarray, other: np.ndarray) -> None:
    before = own.copy(), other.copy()
    assert np.abs(CUES[name].exchange(own, own).astype(int) - own).max() <= 1
    changed = CUES[name].exchange(own, other)
    assert changed.shape == own.shape and changed.dtype == np.uint8 and (changed != own).any()
    assert (own == before[0]).all() and (other == before[1]).all()


def test_a_drawing_in_the_colours_of_another_is_still_that_drawing() -> None:
    square, line = np.zeros((1, 10, 10), bool), np.zeros((1, 10, 10), bool)
    square[:, 2:6, 2:6], line[:, 3] = True, True  # of different sizes
    red, blue, white, green = (200, 10, 20), (10, 30, 220), (255, 255, 255), (90, 250, 90)
    own = np.where(square[..., None], white, red).astype(np.uint8)
    other = np.where(line[..., None], green, blue).astype(np.uint8)
    changed = colours(own, other)
    assert (changed[~square] == blue).all() and len(np.unique(changed[square], axis=0)) == 1


def test_colours_keep_the_order_of_values(own: np.ndarray, other: np.ndarray) -> None:
    changed = colours(own, other)
    for image in range(3):
        for channel in range(3):
            order = own[image, :, :, channel].ravel().argsort(kind="stable")
            assert (np.diff(changed[image, :, :, channel].ravel()[order].astype(int)) >= 0).all()
            assert abs(changed[image, ..., channel].mean() - other[image, ..., channel].mean()) < 1


def test_brightness_keeps_hues(own: np.ndarray, other: np.ndarray) -> None:
    changed = brightness(own, other)
    assert np.allclose(changed.mean((1, 2, 3)), other.mean((1, 2, 3)), atol=1)
    assert np.allclose(changed.mean(3).std((1, 2)), other.mean(3).std((1, 2)), rtol=0.1)
    assert (changed.argmax(3) == own.argmax(3)).mean() > 0.97  # up to rounding


def test_a_border_of_an_eighth(own: np.ndarray, other: np.ndarray) -> None:
    changed, inside = border(own, other), np.s_[:, 2:-2, 3:-3]
    assert (changed[inside] == own[inside]).all()
    changed[inside] = other[inside]
    assert (changed == other).all()


@pytest.mark.parametrize(("bottom", "right"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_corner_of_a_quarter(own: np.ndarray, other: np.ndarray, bottom: bool, right: bool) -> None:
    flipped = np.s_[:, :: -1 if bottom else 1, :: -1 if right else 1]
    changed = corner(own, other, bottom=bottom, right=right)[flipped].copy()
    assert (changed[:, :4, :6] == other[flipped][:, :4, :6]).all()
    changed[:, :4, :6] = own[flipped][:, :4, :6]
    assert (changed == own[flipped]).all()


def roughness(images: np.ndarray) -> np.ndarray:
    """How far a pixel is from the mean of its neighbours to the left and right."""
    bends: np.ndarray = np.abs(np.diff(images.astype(float), 2, axis=2)).mean((1, 2, 3))
    return bends


def test_detail_is_about_as_strong_as_in_the_other_image() -> None:
    rng = np.random.default_rng(0)
    steady, noisy = (rng.normal(128, spread, (2, 32, 32, 3)).clip(0, 255).astype(np.uint8) for spread in (6, 20))
    assert np.allclose(roughness(detail(noisy, steady)), roughness(steady), rtol=0.4)
    assert np.allclose(roughness(detail(steady, noisy)), roughness(noisy), rtol=0.4)
    assert np.allclose(detail(steady, noisy).mean((1, 2)), steady.mean((1, 2)), atol=1)


def test_an_even_image_has_no_contrast_to_divide_by(own: np.ndarray) -> None:
    even = np.full_like(own, 70)
    for cue in CUES.values():
        assert np.isfinite(cue.exchange(even, own).astype(float)).all()
