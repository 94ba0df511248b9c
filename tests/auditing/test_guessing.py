from dataclasses import replace

import numpy as np
import pytest

from auditing.toy_classifiers import without_labels
from fairflac.discovery import guesses as guessing
from fairflac.discovery.guesses import folds, guesses
from fairflac.discovery.witnesses import NETWORKS
from toy import toy_data


def test_copies_of_an_image_are_guessed_together() -> None:
    images = np.random.default_rng(0).integers(0, 256, (30, 2, 2, 3), dtype=np.uint8)
    images[20:] = images[10:20]
    parts = folds(images, 3, seed=0)
    assert sorted(np.concatenate(parts).tolist()) == list(range(30)) and min(map(len, parts)) > 3
    assert all((row + 10 in part) == (row in part) for part in parts for row in range(10, 20))
    assert [part.tolist() for part in folds(images, 3, seed=0)] == [part.tolist() for part in parts]


def test_an_easy_cue_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where brightness and class disagree, the guess is the brightness."""
    monkeypatch.setattr(guessing, "STEPS", 30)
    data = toy_data(200, 0.1, seed=1)
    found = guesses(without_labels(data), without_labels(toy_data(300, 0.1, seed=2)), silent=True)
    assert (found.guess == data.bias["shade"]).mean() > 0.9
    assert len(found.trial_y) == 60 and (found.trial_guess == found.trial_y).mean() > 0.7 and "240" in found.how


def test_nobody_is_guessed_by_a_model_that_saw_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of noise with classes by chance, a model of the same images would know more than half."""
    monkeypatch.setattr(guessing, "STEPS", 15)
    data = without_labels(toy_data(150, 0.5))
    rng = np.random.default_rng(0)
    noise = replace(data, images=rng.integers(0, 256, data.images.shape, dtype=np.uint8), y=rng.integers(0, 2, 150))
    found = guesses(noise, None, silent=True)
    assert 0.35 < (found.guess == noise.y).mean() < 0.65
    assert found.trial_guess is found.guess and "3 times" in found.how


def test_large_images_are_made_small_first() -> None:
    data = without_labels(toy_data(4, 0.5))
    large = replace(data, images=np.zeros((4, 210, 130, 3), np.uint8), task=replace(data.task, image_size=(200, 100)))
    small = guessing._small(large)
    assert small.images.shape == (4, 64, 32, 3) and small.task.image_size == (64, 32)


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_judges_the_half_that_it_has_not_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of noise with classes by chance, a model of the same images would know more than half; and the same seed says the
    same twice."""
    monkeypatch.setattr(guessing, "STEPS", 8)
    monkeypatch.setattr(guessing, "EPOCHS", 1)
    rng = np.random.default_rng(0)
    images, y = rng.integers(0, 256, (80, 16, 16, 3), dtype=np.uint8), rng.integers(0, 2, 80)
    witness = guessing.network_witness(kind, images, silent=True)
    found = witness(np.empty(0), y, 0)
    assert 0.3 < (found.value == y).mean() < 0.7
    assert witness(np.empty(0), y, 0) is found
    assert len(found.value) == len(found.confidence) == 80 and found.confidence.min() >= 0.5
