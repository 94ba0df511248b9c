"""Paired tests: against slow permutations of images, and how often they cry wolf."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from fairflac.errors import UserError
from fairflac.metrics import summary
from fairflac.metrics.comparison import clearly_worse, compare
from fairflac.metrics.predictions import Predictions
from prediction_table import make


def two_models(seed: int, n: int = 300, gain: float = 0.0) -> tuple[Predictions, Predictions]:
    """Both right in 70 % of the images, the second in more of those that conflict."""
    rng = np.random.default_rng(seed)
    y, t = rng.integers(0, 2, (2, n))
    tables = []
    for extra in (0.0, gain):
        right = rng.random(n) < 0.7 + extra * (y != t)
        tables.append(make(y.tolist(), t.tolist(), np.where(right, y, 1 - y).tolist()))
    return tables[0], tables[1]


def test_values_are_those_of_the_summaries() -> None:
    first, second = two_models(0, gain=0.2)
    numbers = compare(first, second)
    for name, one in numbers.items():
        assert (one.first, one.second) == pytest.approx((summary(first)[name], summary(second)[name]))
        assert one.difference == pytest.approx(one.second - one.first) and one.low < one.difference < one.high
    assert numbers["conflicting"].n == int((first.y != first.bias["tone"]).sum())


def test_accuracy_by_mcnemar() -> None:
    first, second = two_models(1)
    a, b = (table.prediction == table.y for table in (first, second))
    expected = binomtest(int((b & ~a).sum()), int((a != b).sum())).pvalue
    assert compare(first, second)["accuracy"].p == pytest.approx(expected)


def test_permutations_of_images_give_the_same_p() -> None:
    first, second = two_models(3, gain=0.1)
    numbers, rng = compare(first, second)["unbiased"], np.random.default_rng(9)
    as_large = 0
    for _ in range(1500):
        swap = rng.random(len(first)) < 0.5
        one, other = (
            replace(a, prediction=np.where(swap, b.prediction, a.prediction))
            for a, b in ((first, second), (second, first))
        )
        as_large += abs(summary(other)["unbiased"] - summary(one)["unbiased"]) >= abs(numbers.difference) - 1e-12
    assert numbers.p == pytest.approx(as_large / 1500, abs=0.04)


def test_alarms_are_rare_without_a_difference_and_common_with_one() -> None:
    without = [compare(*two_models(seed))["unbiased"] for seed in range(60)]
    assert sum(one.p < 0.05 for one in without) <= 7
    assert sum(one.low <= 0 <= one.high for one in without) >= 53
    with_one = [compare(*two_models(seed, gain=0.25))["conflicting"] for seed in range(20)]
    assert sum(one.p < 0.05 for one in with_one) >= 18


def test_a_model_does_not_differ_from_itself() -> None:
    first, _ = two_models(0)
    assert all(one.p == 1 and one.difference == one.low == one.high == 0 for one in compare(first, first).values())


def test_other_images_are_refused() -> None:
    first, _ = two_models(0)
    other, _ = two_models(5)
    with pytest.raises(UserError, match="different images"):
        compare(first, other)


def test_classes_that_lost() -> None:
    y = [0] * 40 + [1] * 20 + [2] * 40
    before = make(y, y, y, attributes=0)
    said = np.array(y)
    said[:2], said[60:75] = 1, 0
    (lost,) = clearly_worse(before, replace(before, prediction=said))
    assert (lost.label, lost.before, lost.after) == (2, 1.0, pytest.approx(25 / 40)) and lost.difference.high < 0
    assert clearly_worse(replace(before, prediction=said), before) == []
