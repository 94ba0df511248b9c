import numpy as np
import pytest

from fairflac.metrics.representation import balanced, linear_probe


def test_planted_labels_are_told_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 2000)
    planted = np.eye(4)[labels] + 0.1 * rng.standard_normal((2000, 4))
    assert linear_probe(planted, labels) > 0.99
    assert linear_probe(rng.standard_normal((2000, 4)), labels) == pytest.approx(0.25, abs=0.06)


def test_balanced_weights_hide_what_merely_goes_with_the_label() -> None:
    """Features that know the attribute alone tell the class as long as both go together, and no longer after."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    attribute = np.where(rng.random(4000) < 0.95, y, 1 - y)
    features = attribute[:, None] + 0.1 * rng.standard_normal((4000, 3))
    assert linear_probe(features, y) > 0.9
    assert linear_probe(features, y, balanced(y, attribute)) == pytest.approx(0.5, abs=0.1)


def test_balanced_counts_every_cell_alike() -> None:
    y, attribute = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1])
    weights = balanced(y, attribute)
    np.testing.assert_allclose(weights, np.array([1 / 2, 1 / 2, 1, 1 / 2, 1 / 2]) * 5 / 3)


def test_constant_features_and_single_labels_do_no_harm() -> None:
    labels = np.array([0, 1] * 50)
    assert 0.3 < linear_probe(np.ones((100, 3)), labels) < 0.7
    assert np.isnan(linear_probe(np.ones((10, 3)), np.zeros(10)))
