"""All nineteen corruptions: their promises, and each against a slow computation of its own."""

import io
import math

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from skimage.filters import gaussian

from cifar_toy import photographs
from fairflac.data.sets import corruptions as blur
from fairflac.data.sets import corruptions as digital
from fairflac.data.sets import corruptions as drops
from fairflac.data.sets import corruptions as ice
from fairflac.data.sets import corruptions as motion
from fairflac.data.sets import corruptions as noise
from fairflac.data.sets import corruptions as warp
from fairflac.data.sets import corruptions as weather
from fairflac.data.sets.corruptions import CORRUPTIONS, zoom_matrix

IMAGES = photographs(24)
NINETEEN = [name for name in CORRUPTIONS if name != "original"]
# Nothing in these is random.
FIXED = {"gaussian-blur", "defocus-blur", "zoom-blur", "brightness", "contrast", "jpeg", "pixelate", "saturate"}
# With CIFAR-C's constants some corruptions do not simply grow: glass and motion have steps that change something else,
# frost gets darker, spatter turns from water to mud, elastic stretches less and bends more, saturate changes direction.
UNEVEN = {"glass-blur", "motion-blur", "frost", "spatter", "elastic", "saturate"}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def change(name: str, severity: int) -> float:
    return float(np.abs(CORRUPTIONS[name](IMAGES, severity, rng()).astype(int) - IMAGES).mean())


def grey(value: int, number: int = 50) -> np.ndarray:
    return np.full((number, 32, 32, 3), value, np.uint8)


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal but for one level where a fraction was cut off."""
    assert np.abs(found.astype(int) - np.floor(np.clip(expected, 0, 255)).astype(int)).max() <= 1


# --- promises of all ---


def test_there_are_nineteen() -> None:
    assert len(NINETEEN) == 19
    assert np.array_equal(CORRUPTIONS["original"](IMAGES, 5, rng()), IMAGES)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", NINETEEN)
def test_shape_type_and_seed(name: str, severity: int) -> None:
    kept = IMAGES.copy()
    first, again, other = (CORRUPTIONS[name](IMAGES, severity, rng(seed)) for seed in (0, 0, 1))
    assert first.shape == IMAGES.shape and first.dtype == np.uint8
    assert np.array_equal(first, again) and not np.array_equal(first, IMAGES)
    assert np.array_equal(IMAGES, kept)
    assert np.array_equal(first, other) == (name in FIXED)


@pytest.mark.parametrize("name", sorted(set(NINETEEN) - UNEVEN))
def test_severity_grows(name: str) -> None:
    changes = [change(name, severity) for severity in range(1, 6)]
    assert all(np.diff(changes) > 0), changes


@pytest.mark.parametrize("name", NINETEEN)
def test_one_image_and_odd_ones(name: str) -> None:
    for image in (IMAGES[:1], grey(0, 1), grey(255, 1)):
        for severity in (1, 5):
            assert CORRUPTIONS[name](image, severity, rng()).shape == (1, 32, 32, 3)


# --- noise ---


def test_noise_has_the_right_spread() -> None:
    x = 128 / 255
    for found, spread in (
        (noise.gaussian_noise(grey(128), 5, rng()), 0.10),
        (noise.speckle_noise(grey(128), 5, rng()), 0.2 * x),
        (noise.shot_noise(grey(128), 5, rng()), math.sqrt(x / 50)),
    ):
        assert found.mean() == pytest.approx(128, abs=1) and found.std() == pytest.approx(255 * spread, rel=0.02)


def test_impulses_are_black_or_white() -> None:
    found = noise.impulse_noise(grey(128), 5, rng())
    assert set(np.unique(found)) == {0, 128, 255}
    assert np.mean(found == 0) == pytest.approx(0.035, rel=0.1) and np.mean(found == 255) == pytest.approx(
        0.035, rel=0.1
    )


# --- blur ---


def test_gaussian_blur_is_that_of_scikit_image() -> None:
    expected = gaussian(IMAGES[3] / 255, sigma=0.8, channel_axis=-1) * 255
    close(blur.gaussian_blur(IMAGES, 4, rng())[3], expected)


def test_defocus_is_a_mean_over_a_lens() -> None:
    # Radius 1.5 covers 3 x 3 pixels, and a softness of 0.1 changes nothing.
    padded = np.pad(IMAGES[0].astype(float), ((1, 1), (1, 1), (0, 0)), mode="reflect")
    expected = sum(padded[i : i + 32, j : j + 32] for i in range(3) for j in range(3)) / 9
    close(blur.defocus_blur(IMAGES, 5, rng())[0], expected)
    assert blur.lens(1, 0.2).sum() == pytest.approx(1) and blur.lens(0.3, 0.4)[2, 2] > 0.8


def test_glass_copies_one_pixel_after_the_other() -> None:
    """CIFAR-C's loop from the bottom right, with the draws of ours; a blur of 0.05 does nothing."""
    up, left = rng().integers(0, 2, (2, len(IMAGES), 30, 30))
    x = IMAGES[7].copy()
    for row in range(31, 1, -1):
        for column in range(31, 1, -1):
            x[row, column] = x[row - up[7, row - 2, column - 2], column - left[7, row - 2, column - 2]]
    close(blur.glass_blur(IMAGES, 1, rng())[7], x.astype(float))


@pytest.mark.parametrize("factor", [1, 1.01, 1.02, 1.1, 1.25, 1.75, 2.25])
def test_zoom_is_that_of_scipy(factor: float) -> None:
    image = IMAGES[0, ..., 0].astype(float)
    crop = math.ceil(32 / factor)
    first = (32 - crop) // 2
    zoomed = ndimage.zoom(image[first : first + crop, first : first + crop], factor, order=1)
    cut = (len(zoomed) - 32) // 2
    enlarge = zoom_matrix(factor)
    np.testing.assert_allclose(enlarge @ image @ enlarge.T, zoomed[cut : cut + 32, cut : cut + 32], atol=1e-9)


def test_zoom_blur_is_a_mean_of_zooms() -> None:
    image = IMAGES[2].astype(float).transpose(2, 0, 1)
    zooms = [zoom_matrix(factor) @ image @ zoom_matrix(factor).T for factor in np.arange(1, 1.26, 0.01)]
    expected = (image + sum(zooms)) / (len(zooms) + 1)
    close(blur.zoom_blur(IMAGES, 5, rng())[2], expected.transpose(1, 2, 0))


def test_motion_blur_follows_its_line() -> None:
    degrees = np.array([0.0, 90.0, -45.0, 20.0])
    moved = motion.move(IMAGES[:4].astype(float), 6, 2.0, degrees)
    weights = [math.exp(-(step**2) / 8) for step in range(13)]
    for image, angle, found in zip(IMAGES, degrees, moved, strict=False):
        for row, column in ((5, 5), (30, 2), (12, 28)):
            expected = np.zeros(3)
            for step, weight in enumerate(weights):
                down = math.ceil(step * math.sin(math.radians(angle)) - 0.5)
                right = math.ceil(step * math.cos(math.radians(angle)) - 0.5)
                expected += weight * image[min(max(row + down, 0), 31), min(max(column + right, 0), 31)]
            np.testing.assert_allclose(found[row, column], expected / sum(weights))


# --- weather ---


def test_clouds_fill_0_to_1_and_get_rougher() -> None:
    smooth, rough = weather.plasma(20, 3.0, rng()), weather.plasma(20, 1.75, rng())
    for clouds in (smooth, rough):
        assert clouds.min(axis=(1, 2)).max() == 0 and np.allclose(clouds.max(axis=(1, 2)), 1)
    assert np.abs(np.diff(rough, axis=2)).mean() > 1.3 * np.abs(np.diff(smooth, axis=2)).mean()


def test_clouds_are_diamond_square() -> None:
    """Point by point on a torus, with the draws of ours."""
    draws, heights, step, wobble = rng(), np.zeros((32, 32)), 32, 100.0
    while step >= 2:
        half = step // 2
        diagonal = [(-half, -half), (-half, half), (half, -half), (half, half)]
        straight = [(-half, 0), (half, 0), (0, -half), (0, half)]
        for top, left, around in ((half, half, diagonal), (0, half, straight), (half, 0, straight)):
            random = wobble * draws.uniform(-wobble, wobble, (32 // step, 32 // step))
            for row in range(top, 32, step):
                for column in range(left, 32, step):
                    mean = sum(heights[(row + down) % 32, (column + right) % 32] for down, right in around) / 4
                    heights[row, column] = mean + random[row // step, column // step]
        step, wobble = half, wobble / 2.5
    heights -= heights.min()
    np.testing.assert_allclose(weather.plasma(1, 2.5, rng())[0], heights / heights.max())


def test_fog_is_clouds_on_a_darkened_image(monkeypatch: pytest.MonkeyPatch) -> None:
    clouds = rng().random((len(IMAGES), 32, 32))
    monkeypatch.setattr(weather, "plasma", lambda number, decay, generator: clouds)
    x, brightest = IMAGES[4] / 255, IMAGES[4].max() / 255
    expected = (x + 1.5 * clouds[4][..., None]) * brightest / (brightest + 1.5)
    close(weather.fog(IMAGES, 5, rng())[4], expected * 255)


def test_snow_on_black_is_its_own_half_turn() -> None:
    found = weather.snow(grey(0), 5, rng())
    assert np.array_equal(found, found[:, ::-1, ::-1]) and np.array_equal(found[..., 0], found[..., 2])
    assert found.min() == math.floor(0.2 * 0.5 * 255)  # black at half brightness, a fifth of it
    assert (found > 100).mean() > 0.03


def test_frost_mixes_image_and_texture() -> None:
    texture = np.full((40, 50, 3), (200, 220, 240), np.uint8)
    found = ice.frost(IMAGES, 5, rng(), [texture])
    close(found, 0.75 * IMAGES + 0.45 * texture[0, 0])
    # A texture of one bright pixel shows whole windows, and every place of them.
    texture = np.zeros((64, 64, 3), np.uint8)
    texture[31, 31] = 255
    bright = np.argwhere(ice.frost(grey(0, 400), 1, rng(), [texture])[..., 0])
    assert len(bright) == 400 and bright[:, 1:].min() == 0 and bright[:, 1:].max() == 31


def test_generated_frost_looks_about_as_bright_as_the_photographs() -> None:
    textures = ice.generated_textures()
    assert len(textures) == 5 and all(texture.shape == (96, 96, 3) for texture in textures)
    assert 140 < np.mean(textures) < 180 and 25 < np.std(textures) < 50
    assert np.array_equal(textures[0], ice.generated_textures.__wrapped__()[0])


def test_mud_is_brown_and_covers_little() -> None:
    found = drops.spatter(grey(255), 5, rng())
    covered = found[..., 2] < 255
    assert 0.01 < covered.mean() < 0.3
    red, green, blue = found[covered].T.astype(float)
    share = (255 - blue) / (255 - 20)
    assert share.min() >= 0.8 - 1e-2  # thin mud is no mud
    np.testing.assert_allclose(red, 255 - share * (255 - 63), atol=2)
    np.testing.assert_allclose(green, 255 - share * (255 - 42), atol=2)


def test_water_is_pale_turquoise_and_dry_images_stay() -> None:
    found = drops.spatter(grey(0), 3, rng())
    wet = found[..., 0] > 20
    assert 0.01 < wet.mean() < 0.5
    np.testing.assert_allclose(found[..., 1][wet] / found[..., 0][wet], 238 / 175, rtol=0.06)
    assert found.max() == int(0.5 * 238)
    assert not drops.water(np.zeros((32, 32), np.uint8)).any()


def test_equalised_values_are_evenly_spread() -> None:
    values = np.array([[3, 3, 5], [7, 7, 7]], np.uint8)
    assert drops.equalised(values).tolist() == [[0, 0, 64], [255, 255, 255]]  # 1 and 4 of 4 above the least
    assert drops.equalised(np.full((2, 2), 9, np.uint8)).tolist() == [[9, 9], [9, 9]]


# --- digital ---


def test_contrast_pulls_to_the_mean() -> None:
    means = IMAGES.mean(axis=(1, 2), keepdims=True)
    close(digital.contrast(IMAGES, 5, rng()), means + 0.15 * (IMAGES - means))


def test_brightness_scales_to_the_new_value() -> None:
    value = IMAGES.max(axis=-1, keepdims=True).astype(float)
    close(digital.brightness(IMAGES, 5, rng()), IMAGES * np.minimum(value + 0.3 * 255, 255) / value)


@pytest.mark.parametrize(("severity", "factor", "more"), [(2, 0.1, 0.0), (5, 2.5, 0.2)])
def test_saturation_moves_away_from_the_value(severity: int, factor: float, more: float) -> None:
    value, least = IMAGES.max(-1, keepdims=True).astype(float), IMAGES.min(-1, keepdims=True)
    saturation = (value - least) / value
    coloured = saturation[..., 0] > 0  # grey has no colour to add to
    new = np.minimum(saturation * factor + more, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = value - (value - IMAGES) * new / saturation
    close(digital.saturate(IMAGES, severity, rng())[coloured], expected[coloured])


def test_jpeg_is_pillow_at_the_given_quality() -> None:
    stream = io.BytesIO()
    Image.fromarray(IMAGES[5]).save(stream, "JPEG", quality=40)
    assert np.array_equal(digital.jpeg(IMAGES, 5, rng())[5], np.asarray(Image.open(stream)))


def test_pixelate_has_fewer_pixels() -> None:
    found = digital.pixelate(IMAGES, 5, rng())
    assert len(np.unique(found[0].reshape(32, -1), axis=0)) == 20  # int(32 * 0.65) different rows
    box = Image.Resampling.BOX
    expected = Image.fromarray(IMAGES[0]).resize((20, 20), box).resize((32, 32), box)
    assert np.array_equal(found[0], np.asarray(expected))


# --- elastic ---


@pytest.mark.parametrize(("mode", "repeat_edge"), [("reflect", True), ("mirror", False)])
def test_lookup_is_that_of_scipy(mode: str, repeat_edge: bool) -> None:
    x = IMAGES[:2] / 255
    rows, columns = rng().uniform(-20, 50, (2, 2, 32, 32))
    found = warp.sample(x, rows, columns, repeat_edge=repeat_edge)
    for number in range(2):
        expected = ndimage.map_coordinates(x[number, ..., 1], [rows[number], columns[number]], order=1, mode=mode)
        np.testing.assert_allclose(found[number, ..., 1], expected, atol=1e-9)


def test_elastic_moves_the_anchors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Severity 1 has no bending: what was at an anchor is then where the anchor went."""
    moves = np.array([[2.0, 1.0], [-1.0, 2.0], [1.0, -2.0]])  # x and y, whole pixels

    class Draws:
        def uniform(self, low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
            return np.broadcast_to(moves, shape) if shape[-2:] == (3, 2) else np.zeros(shape)

    found = warp.elastic(IMAGES, 1, Draws())  # type: ignore[arg-type]
    for (x, y), (right, down) in zip(warp.ANCHORS.astype(int), moves.astype(int), strict=True):
        close(found[:, y + down, x + right], IMAGES[:, y, x])
