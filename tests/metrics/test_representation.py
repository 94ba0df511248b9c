"""QMI, alignment and probes: the paper's sums written as loops, and features with planted dependence."""

from itertools import pairwise

import numpy as np
import pytest

from fairflac.metrics.representation import (
    alignment_on_s,
    balanced,
    linear_probe,
    measure_features,
    quadratic_mutual_information,
    similarities,
)
from reporting.hand_made import table

RNG = np.random.default_rng(0)


def test_the_sums_of_the_paper() -> None:
    """Eq. 16-18, index by index."""
    n, t = 12, np.array([0, 1, 2] * 4)
    kernel = similarities(RNG.standard_normal((n, 3)))
    v_in = v_all = v_btw = 0.0
    for p in range(3):
        members = [i for i in range(n) if t[i] == p]
        share = len(members) / n
        v_in += sum(kernel[k, m] for k in members for m in members) / n**2
        v_all += share**2 * sum(kernel[k, m] for k in range(n) for m in range(n)) / n**2
        v_btw += share * sum(kernel[j, k] for j in members for k in range(n)) / n**2
    qmi = quadratic_mutual_information(kernel, t)
    assert (qmi.v_in, qmi.v_all, qmi.v_btw) == pytest.approx((v_in, v_all, v_btw))
    assert qmi.value == pytest.approx(v_in + v_all - 2 * v_btw)


def planted(strength: float, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Features that hold the attribute with the given strength beside something that has nothing to do with it."""
    t = np.arange(n) % 4
    other = np.repeat(RNG.standard_normal((n // 4, 6)), 4, axis=0)  # each once with every value
    return np.concatenate([other, strength * np.eye(4)[t]], axis=1), t


def test_zero_when_independent_and_growing_with_dependence() -> None:
    values = []
    for strength in (0, 0.5, 1, 2, 4):
        features, t = planted(strength)
        values.append(quadratic_mutual_information(similarities(features), t).value)
    assert values[0] == pytest.approx(0, abs=1e-8)  # equal features are 1e-8 apart by rounding
    assert all(b > 1.5 * a + 1e-4 for a, b in pairwise(values))


def test_weights_hide_what_class_and_attribute_share() -> None:
    """Features that are the class, in data where the attribute nearly is the class."""
    y = RNG.integers(0, 2, 600)
    t = np.where(RNG.random(600) < 0.9, y, 1 - y)
    kernel = similarities(np.eye(2)[y])
    assert quadratic_mutual_information(kernel, t).value > 0.05
    assert quadratic_mutual_information(kernel, t, balanced(y, t)).value == pytest.approx(0, abs=1e-8)


def test_alignment_by_a_loop_and_at_its_ends() -> None:
    y, t = RNG.integers(0, 3, (2, 40))
    kernel = similarities(RNG.standard_normal((40, 5)))
    pairs = [(i, j) for i in range(40) for j in range(i) if (y[i] == y[j]) != (t[i] == t[j])]
    expected = np.corrcoef([kernel[i, j] for i, j in pairs], [float(y[i] == y[j]) for i, j in pairs])[0, 1]
    assert alignment_on_s(kernel, y, t) == pytest.approx(expected)
    assert alignment_on_s(similarities(np.eye(3)[y]), y, t) == pytest.approx(1)
    assert alignment_on_s(similarities(np.eye(3)[t]), y, t) == pytest.approx(-1)
    assert np.isnan(alignment_on_s(kernel, y, y))  # class and attribute are one: S is empty
    assert np.isnan(alignment_on_s(similarities(np.ones((40, 2))), y, t))


def test_a_model_that_reads_the_class_and_one_that_reads_the_attribute() -> None:
    right, shortcut = measure_features(table(1.0, 1.0)), measure_features(table(1.0, 0.0))
    assert set(right) == {"class_probe", "attribute_probe:hue", "qmi:hue", "alignment:hue"}
    assert right["class_probe"].value > 0.95 > 0.5 > shortcut["class_probe"].value
    assert right["attribute_probe:hue"].value < 0.5 < 0.95 < shortcut["attribute_probe:hue"].value
    assert right["qmi:hue"].value < 0.01 < shortcut["qmi:hue"].value
    assert right["alignment:hue"].value > 0.9 and shortcut["alignment:hue"].value < -0.9
    for measured in (*right.values(), *shortcut.values()):
        assert measured.low <= measured.value <= measured.high and measured.n > 0


def test_without_an_attribute_only_the_class_can_be_asked_for() -> None:
    assert set(measure_features(table(1.0, 1.0, attributes=()))) == {"class_probe"}


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
