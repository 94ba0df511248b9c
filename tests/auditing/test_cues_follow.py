"""Rules of which one knows what they look at."""

import numpy as np
import pytest

from auditing.toy_classifiers import rule
from fairflac.auditing import cues
from fairflac.auditing.cues import follow, paired
from fairflac.inference.model import Classifier


def reads_red(images: np.ndarray) -> np.ndarray:
    return (images[..., 0].mean((1, 2)) > 128).astype(int)


def reads_a_mark(images: np.ndarray) -> np.ndarray:
    """In the upper left corner, inside of the border."""
    return (images[:, 1, 1].mean(1) > images[:, 3:5, 3:5].mean((1, 2, 3))).astype(int)


def reads_the_thing(images: np.ndarray) -> np.ndarray:
    """Is the left or the right half of the middle brighter?"""
    grey = images.mean(3)
    return (grey[:, 3:5, 2:4].mean((1, 2)) > grey[:, 3:5, 4:6].mean((1, 2))).astype(int)


@pytest.fixture
def images() -> np.ndarray:
    """Reddish or bluish noise."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 100, (200, 8, 8, 3), dtype=np.uint8)
    images[np.arange(200), :, :, 2 * rng.integers(0, 2, 200)] += np.uint8(150)
    return images


def differences(model: Classifier, images: np.ndarray) -> dict[str, float]:
    return {one.cue: one.difference.low for one in follow(model, images, model(images).argmax(1), silent=True)}


def test_each_rule_is_found_by_its_name(images: np.ndarray) -> None:
    red = differences(rule(reads_red), images)
    assert next(iter(red)) == "colour" and red["colour"] > 0.9
    assert max(low for cue, low in red.items() if cue.endswith("corner")) < 0.1
    mark = differences(rule(reads_a_mark), images)
    assert next(iter(mark)) == "top left corner" and mark["top left corner"] > 0.3
    assert max(low for cue, low in mark.items() if cue not in ("top left corner", "border")) < 0.1


def test_a_rule_on_the_thing_itself_follows_nothing(images: np.ndarray) -> None:
    assert max(differences(rule(reads_the_thing), images).values()) < 0.1


def test_what_any_damage_does_is_no_lean(images: np.ndarray) -> None:
    """A model that says 1 for whatever has been touched: as often with a cue from its own class."""
    known = {image.tobytes(): int(row % 2) for row, image in enumerate(images)}

    def says(seen: np.ndarray) -> np.ndarray:
        return np.array([known.get(image.tobytes(), 1) for image in seen])

    (border,) = (
        one
        for one in follow(rule(says), images, np.arange(200) % 2, silent=True)
        if one.cue == "border"
    )  # fmt: skip
    assert 0.4 < border.follows.value < 0.6 and border.anyway.value == border.follows.value
    assert border.difference.value == 0 and border.examples == ()


def test_a_model_that_always_names_the_other_class_follows_nothing(images: np.ndarray) -> None:
    """With a cue from there and with one from its own class alike: a difference of 0, and about 0 at both ends."""
    marked = np.arange(200) % 2
    images[:, 4, 4] = (255 * marked)[:, None]
    contrary = rule(lambda seen: (seen[:, 4, 4, 0] < 128).astype(int))
    (border,) = (one for one in follow(contrary, images, marked, silent=True) if one.cue == "border")
    assert border.follows.value == border.anyway.value == 1
    assert -0.02 < border.difference.low < border.difference.value == 0 < border.difference.high < 0.02


def test_examples_show_what_happened(images: np.ndarray) -> None:
    model = rule(reads_red)
    said = model(images).argmax(1)
    best = follow(model, images, said, silent=True)[0]
    assert len(best.examples) == cues.SHOWN
    for row, giver, changed in best.examples:
        assert said[row] != said[giver] == model(changed[None]).argmax(1)[0]


def test_pairs_are_of_other_and_of_the_same_class() -> None:
    said = np.array([0, 0, 0, 1, 1, 2])  # nothing is like the last
    found = paired(said)
    assert sorted(found.rows) == [0, 1, 2, 3, 4]
    assert (said[found.others] != said[found.rows]).all()
    assert (said[found.alike] == said[found.rows]).all() and (found.alike != found.rows).all()
    assert len(paired(np.repeat([0, 1], 300)).rows) == cues.PROBES


def test_a_model_that_says_one_thing_has_nothing_to_exchange(images: np.ndarray) -> None:
    assert follow(rule(lambda seen: np.zeros(len(seen), int)), images, np.zeros(200, int), silent=True) == []


def test_only_what_the_network_sees_is_exchanged(images: np.ndarray) -> None:
    """The mark is outside of the middle that the model is shown."""
    wide = np.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    assert differences(rule(reads_red), wide) == differences(rule(reads_red), images)
