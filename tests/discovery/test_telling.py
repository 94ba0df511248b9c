"""What tells values apart, on images where it was painted in."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairflac.discovery.features import FeatureExtractor, pixel_extractor
from fairflac.discovery.telling import CUES, GRID, Part, telling_cue, telling_parts

N, SIDE = 120, 32
Y, VALUE = np.arange(N) % 2, np.arange(N) % 3 % 2


def noise() -> np.ndarray:
    """Some images are brighter than others, and some have more contrast."""
    rng = np.random.default_rng(0)
    light, contrast = rng.integers(60, 120, (N, 1, 1, 1)), rng.uniform(40, 80, (N, 1, 1, 1))
    return (light + contrast * rng.random((N, SIDE, SIDE, 3))).astype(np.uint8)


def painted(name: str) -> np.ndarray:
    images = noise()
    on = VALUE == 1
    if name == "brightness":
        images[on] += 55
    elif name == "red against blue":
        images[on, :, :, 0] += 40
        images[on, :, :, 2] -= 40
    elif name == "green against red and blue":
        images[on, :, :, 1] += 40
        images[on, :, :, ::2] -= 20
    elif name == "brightness of the border":
        images[on, 0] += 15
        images[on, -1] += 15
    elif name == "sharpness":
        images[on] = images[on][:, :: SIDE // 8, :: SIDE // 8].repeat(SIDE // 8, 1).repeat(SIDE // 8, 2)
    elif name == "contrast":
        images[on] = 100 + images[on] // 8
    else:
        grey = images[on].mean(3, keepdims=True).astype(np.uint8)
        images[on] = grey.repeat(3, 3)
    return images


@pytest.mark.parametrize("name", [cue.name for cue in CUES])
def test_the_cue_that_was_painted_is_the_one_that_is_named(name: str) -> None:
    """Grey images differ in contrast too; there the two are equally telling."""
    found = telling_cue(painted(name), Y, VALUE == 0)
    assert found is not None and found.area > 0.95
    if name not in ("contrast", "strength of the colours"):
        assert found.name == name


def test_the_area_is_that_of_scikit_learn_and_its_direction_may_differ_by_class() -> None:
    images = noise()
    images[(Y == 0) & (VALUE == 1)] += 20
    images[(Y == 1) & (VALUE == 1)] -= 20
    found = telling_cue(images, Y, VALUE == 0)
    brightness = images.mean((1, 2, 3))
    areas = [roc_auc_score(VALUE[label::2], brightness[label::2]) for label in (0, 1)]  # the classes take turns
    assert areas[0] > 0.5 > areas[1]
    assert found is not None and found.name == "brightness"
    assert found.area == pytest.approx((areas[0] + 1 - areas[1]) / 2, abs=1e-6)


def test_where_no_class_has_both_kinds_nothing_can_be_told() -> None:
    assert telling_cue(noise(), Y, np.ones(N, dtype=bool)) is None


@pytest.mark.parametrize("place", [0, 7, 15])
def test_the_part_that_was_painted_is_found(place: int) -> None:
    images, (line, column) = noise(), divmod(place, GRID)
    part = SIDE // GRID
    images[VALUE == 1, line * part : (line + 1) * part, column * part : (column + 1) * part] = 255
    extractor = pixel_extractor()
    found = telling_parts(extractor, images, extractor.features(images), VALUE, np.flatnonzero(VALUE == 1)[:6].tolist())
    assert found == {1: Part(line, column)}


def test_what_is_everywhere_is_in_no_single_part() -> None:
    images, extractor = noise(), pixel_extractor()
    images[VALUE == 1] += 40
    rows = np.flatnonzero(VALUE == 1)[:6].tolist()
    assert telling_parts(extractor, images, extractor.features(images), VALUE, rows) == {}


def test_a_covered_image_that_is_far_from_all_others_has_a_finite_doubt() -> None:
    """Its probability is 0 in floating point, and the logarithm of that a warning."""
    images = noise()
    images[VALUE == 1, 0, 0] = 255
    images[VALUE == 0, 0, 0] = 0

    def far_without_the_mark(images: np.ndarray) -> np.ndarray:
        mark = images[:, 0, 0].mean(1)
        return np.where(mark == 255, 1.0, np.where(mark == 0, -1.0, -1e9))[:, None]

    extractor = FeatureExtractor("mark", (SIDE, SIDE), "", far_without_the_mark)
    rows = np.flatnonzero(VALUE == 1)[:6].tolist()
    assert telling_parts(extractor, images, extractor.features(images), VALUE, rows) == {1: Part(0, 0)}
