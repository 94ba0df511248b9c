"""One shortcut after the other, and what is taken out of the features in between."""

import warnings
from itertools import chain

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_info

from fairflac.discovery import guesses as guessing
from fairflac.discovery.features import standardised
from fairflac.discovery.search import erased, search
from fairflac.errors import UserError
from fairflac.metrics.representation import balanced, linear_probe
from planted_features import planted
from toy import toy_data


def test_what_is_erased_cannot_be_told_and_the_class_still_can() -> None:
    features, y, attribute = planted(1500)
    left = erased(features, y, attribute)
    weights = balanced(y, attribute)
    assert linear_probe(features, attribute, weights) > 0.95
    assert linear_probe(left, attribute, weights) < 0.56  # chance is 0.5
    assert linear_probe(left, y, weights) == pytest.approx(linear_probe(features, y, weights), abs=0.05)
    for label in (0, 1):  # by hand: the means of both values are the same within a class
        means = [left[(y == label) & (attribute == value)].mean(0) for value in (0, 1)]
        pooled = [features[(y == label) & (attribute == value)].mean(0) for value in (0, 1)]
        assert np.abs(means[0] - means[1]).max() < 0.5 < np.abs(pooled[0] - pooled[1]).max()
    within = [v - np.stack([v[y == c].mean(0) for c in (0, 1)])[y] for v in (left, np.eye(2)[attribute])]
    assert np.abs(within[0].T @ within[1]).max() / len(y) < 1e-4


def test_two_shortcuts_are_found_one_after_the_other() -> None:
    first, y, one = planted(1200, q=0.92)
    rng = np.random.default_rng(9)
    other = np.where(rng.random(len(y)) < 0.9, y, 1 - y)
    second = rng.standard_normal((len(y), 4)) + 4.5 * np.eye(4)[other]
    features = standardised(np.concatenate([first, second], 1).astype(np.float32))
    rounds = search({"planted": features}, y, "linear", silent=True)
    found = [done.best.testimony.value for done in rounds if done.best.belief.believed]
    assert len(found) == 2 and len(rounds) == 3
    assert adjusted_rand_score(found[0], one) > 0.8 and adjusted_rand_score(found[1], other) > 0.8


def test_none_found_is_one_round() -> None:
    features, y, _ = planted(600, attribute=0.0)
    rounds = search({"planted": standardised(features)}, y, silent=True)
    assert len(rounds) == 1 and not rounds[0].best.belief.believed and len(rounds[0].candidates) == 3


def test_what_is_found_does_not_depend_on_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads are there for time alone; and what they set for themselves is as it was before."""
    features, y, _ = planted(240)
    kinds = {"planted": standardised(features), "turned": standardised(features[:, ::-1].copy())}
    filters, limits, found = list(warnings.filters), threadpool_info(), []
    for cores in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda cores=cores: cores)
        found.append(search(kinds, y, silent=True))
    for one, other in zip(*([*chain(*(done.candidates for done in rounds))] for rounds in found), strict=True):
        assert (one.witness, one.features, one.belief) == (other.witness, other.features, other.belief)
        np.testing.assert_array_equal(one.testimony.value, other.testimony.value)
        np.testing.assert_array_equal(one.testimony.confidence, other.testimony.confidence)
    assert warnings.filters == filters and threadpool_info() == limits


def test_the_best_witness_comes_first() -> None:
    features, y, attribute = planted(500)
    noise = np.random.default_rng(0).standard_normal((500, 4)).astype(np.float32)
    done = search({"noise": noise, "planted": standardised(features)}, y, silent=True)[0]
    scores = [one.belief.score for one in done.candidates]
    assert scores == sorted(scores, reverse=True) and done.best is done.candidates[0] and len(scores) == 6
    assert [one.features for one in done.candidates] == ["planted"] * 3 + ["noise"] * 3
    assert adjusted_rand_score(done.best.testimony.value, attribute) > 0.9


@pytest.fixture
def short_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough for the shade of a toy image."""
    monkeypatch.setattr(guessing, "STEPS", 30)


@pytest.mark.usefixtures("short_guesses")
def test_a_network_is_a_witness_too() -> None:
    """It guesses the easy cue of every image, is asked once for all kinds of features, and in one round only."""
    data = toy_data(240, 0.1, seed=1)
    shade = np.eye(2, dtype=np.float32)[data.bias["shade"]] * 6
    kinds = {"shade": shade + np.random.default_rng(0).standard_normal(shade.shape).astype(np.float32)}
    kinds["again"] = kinds["shade"][:, ::-1].copy()
    rounds = search(kinds, data.y, "small", images=data.images, silent=True)
    assert len(rounds) == 1 and [one.witness for one in rounds[0].candidates] == ["small"] * 2
    first, second = (one.testimony for one in rounds[0].candidates)
    assert first is second and (first.value == data.bias["shade"]).mean() > 0.9
    assert (first.confidence >= 0.5).all() and (first.confidence <= 1).all()


def test_a_network_needs_images() -> None:
    with pytest.raises(ValueError, match="'early' is a network: it needs images"):
        search({"zeros": np.zeros((4, 2), np.float32)}, np.array([0, 1, 0, 1]), "early")


def test_an_unknown_witness() -> None:
    with pytest.raises(UserError, match="did you mean 'linear'"):
        search({"zeros": np.zeros((4, 2), np.float32)}, np.array([0, 1, 0, 1]), "linaer")
