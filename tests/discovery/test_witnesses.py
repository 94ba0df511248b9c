"""Witnesses on features whose attribute is known, and that no image is judged by a model that has seen it."""

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from fairflac.discovery.features import standardised
from fairflac.discovery.witnesses import (
    WITNESSES,
    _layer,
    _taken_over,
    carried_over,
    clusters,
    contents,
    filled,
    halves,
    judged,
    linear,
    told_apart,
    twins,
)
from planted_features import planted


@pytest.mark.parametrize("name", WITNESSES)
def test_the_attribute_is_found_without_a_label_of_it(name: str) -> None:
    features, y, attribute = planted()
    found = WITNESSES[name](standardised(features), y, 0)
    assert adjusted_rand_score(found.value, attribute) > 0.9 > adjusted_rand_score(found.value, y)
    assert found.confidence.min() >= 0.5 and found.confidence.max() <= 1


def test_a_wrong_guess_is_less_sure() -> None:
    features, y, attribute = planted(2000, attribute=2.0)
    for name in ("linear", "twins"):
        found = WITNESSES[name](standardised(features), y, 0)
        right = found.value == attribute
        assert found.confidence[right].mean() > found.confidence[~right].mean() + 0.02, name


@pytest.mark.parametrize("name", WITNESSES)
def test_the_same_seed_gives_the_same_guess(name: str) -> None:
    features, y, _ = planted(200)
    first, second = (WITNESSES[name](standardised(features), y, 3) for _ in range(2))
    np.testing.assert_array_equal(first.value, second.value)
    np.testing.assert_array_equal(first.confidence, second.confidence)


@pytest.mark.parametrize("name", ["linear", "twins"])
def test_values_are_numbered_as_the_classes_they_go_with(name: str) -> None:
    features, y, attribute = planted(900, q=0.85, classes=3)
    found = WITNESSES[name](standardised(features), y, 0).value
    assert np.mean(found == attribute) > 0.9


def test_the_answer_for_a_half_comes_from_the_other() -> None:
    """Whatever the labels of a half are, its own answers stay, and those of the other half change."""
    features, y, _ = planted(300)
    half = halves(contents(features), y, np.random.default_rng(0))
    changed = np.where(half, 1 - y, y)
    before, after = (judged(features, labels, half, C=1e-3) for labels in (y, changed))
    np.testing.assert_array_equal(before[half], after[half])
    assert not np.allclose(before[~half], after[~half])


def test_images_that_are_not_trusted_teach_nothing() -> None:
    features, y, _ = planted(300)
    half, trusted = halves(contents(features), y, np.random.default_rng(0)), np.arange(300) % 3 > 0
    changed = np.where(trusted, y, 1 - y)
    before, after = (judged(features, labels, half, trusted, C=1e-3) for labels in (y, changed))
    np.testing.assert_array_equal(before, after)


def test_halves_are_of_each_class_and_copies_stay_together() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((100, 4)).astype(np.float32)
    features[50:] = features[:50]
    y = np.arange(100) % 50 % 5
    for _ in range(5):
        half = halves(contents(features), y, rng)
        np.testing.assert_array_equal(half[:50], half[50:])
        assert np.bincount(y[half]).tolist() == [10] * 5


def test_a_label_of_one_image_is_no_mishap() -> None:
    features, y, _ = planted(60)
    labels = np.where(np.arange(60) == 7, 2, y)
    shares = judged(features, labels, halves(contents(features), labels, np.random.default_rng(0)), C=1e-3)
    assert shares.shape == (60, 3) and shares[7, 2] == 0  # nothing else shows what it is
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-6)  # they are fp32
    assert judged(features, np.where(np.arange(60) == 7, 1, 0), y == 0, C=1.0)[:, 1].max() < 1


def test_an_image_that_always_contradicts_ends_no_class() -> None:
    """All images of a class look like the other one: the rounds stop before nothing is left to learn from."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((200, 5)).astype(np.float32)
    y = (np.arange(200) < 12).astype(np.int64)
    assert linear(features, y).value.shape == (200,)


def test_clusters_are_as_many_as_the_halves_agree_on() -> None:
    rng = np.random.default_rng(0)
    blob = np.arange(300) % 3
    features = (rng.standard_normal((300, 6)) + 8 * np.eye(6)[blob]).astype(np.float32)
    found = clusters(standardised(features), rng.integers(0, 2, 300))
    assert found.value.max() == 2 and adjusted_rand_score(found.value, blob) == 1


def test_a_sure_twin_is_followed_and_one_at_chance_is_not() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.zeros(2000, dtype=torch.int64)
    sure, unsure = torch.tensor([[-50.0, 50.0]]).expand(2000, 2), torch.zeros(2000, 2)
    assert (_taken_over(sure, labels, generator) == 1).all()
    assert (_taken_over(unsure, labels, generator) == 0).all()
    half_sure = torch.tensor([[0.0, np.log(3.0)]]).expand(2000, 2)  # probability 0.75: half way from chance to sure
    assert _taken_over(half_sure, labels, generator).float().mean() == pytest.approx(0.5, abs=0.04)


def test_a_layer_begins_as_pytorch_begins_it() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(7)
        expected = torch.nn.Linear(30, 5)
    layer = _layer(30, 5, torch.Generator().manual_seed(7))
    torch.testing.assert_close(layer.state_dict(), expected.state_dict())


def test_twins_leave_the_random_numbers_of_others_alone() -> None:
    features, y, _ = planted(60)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    twins(features, y, 0)
    assert torch.equal(torch.rand(3), expected)


def test_a_guess_is_carried_over_to_other_images() -> None:
    """Values need not be all there: of 0 and 2, 1 is never said."""
    first, second = planted(400, seed=1), planted(200, q=0.5, seed=2)
    others = standardised(second.features, like=first.features)
    found = carried_over(standardised(first.features), 2 * first.attribute, others)
    assert np.mean(found.value == 2 * second.attribute) > 0.98 and set(found.value) == {0, 2}
    assert found.confidence.min() >= 0.5 and found.confidence.max() <= 1
    alone = carried_over(standardised(first.features), np.full(400, 3), others)
    assert (alone.value == 3).all() and (alone.confidence == 1).all()


def test_clusters_of_copies() -> None:
    """Three images, many times each: there is no fourth cluster, and scikit-learn would warn of it."""
    features = np.repeat(np.eye(3, dtype=np.float32), 20, axis=0)
    found = clusters(features, np.arange(60) % 2, 0)
    assert len(np.unique(found.value)) <= 3 and np.isfinite(found.confidence).all()


def test_labels_of_a_few_images_tell_the_attribute_and_not_the_class() -> None:
    """Of 60 labels 6 contradict the class. A model that counts images alike learns the class beside the attribute."""
    features, y, attribute = planted(4000, attribute=1.5)
    features[:, 0] += 3 * y  # the class is the easier of the two
    x = standardised(features)
    known = np.arange(len(y)) < 60
    value = np.where(known, attribute, -1)
    found = filled(x, y, value, np.ones(len(y)))
    plain = carried_over(x[known], attribute[known], x)
    against = (attribute != y) & ~known
    right, by_plain = (np.mean(one.value[against] == attribute[against]) for one in (found, plain))
    assert np.array_equal(found.value[known], attribute[known]) and found.confidence[known].min() == 1
    assert right > by_plain + 0.1


def test_features_that_do_not_show_the_attribute_do_not_tell_it() -> None:
    """Though they show the class, with which it goes."""
    features, y, attribute = planted()
    seen, unseen = standardised(features), standardised(features[:, :2])
    assert told_apart(seen, y, attribute) > 0.95
    assert told_apart(unseen, y, attribute) < 0.6
    assert told_apart(seen[:1], y[:1], attribute[:1]) == 0
