"""Against a slow shuffle, and against chi-squared where that holds."""

import numpy as np
import pytest
from scipy.stats import chi2

from fairflac.metrics.independence import independence_p
from fairflac.metrics.predictions import Predictions


def table_of(y: np.ndarray, right: np.ndarray, value: np.ndarray) -> Predictions:
    prediction = np.where(right, y, (y + 1) % (y.max() + 1))
    n, nowhere = len(y), {"a": np.zeros(len(y), dtype=bool)}
    return Predictions(np.arange(n), y, prediction, np.ones(n), np.empty((n, 0)), {"a": value}, nowhere)


def made(n: int, gap: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, value = rng.integers(0, 2, n), rng.integers(0, 3, n)
    return y, rng.random(n) < 0.8 - gap * (value == 2), value


def statistic(y: np.ndarray, right: np.ndarray, value: np.ndarray) -> float:
    total = 0.0
    for label in np.unique(y):
        share = right[y == label].mean()
        for k in np.unique(value):
            cell = right[(y == label) & (value == k)]
            total += (cell.sum() - len(cell) * share) ** 2 / (len(cell) * share * (1 - share))
    return total


@pytest.mark.parametrize("gap", [0.0, 0.15])
def test_as_a_shuffle_within_classes(gap: float) -> None:
    y, right, value = made(150, gap)
    seen, rng, more = statistic(y, right, value), np.random.default_rng(5), 0
    for _ in range(1000):
        shuffled = value.copy()
        for label in np.unique(y):
            shuffled[y == label] = rng.permutation(value[y == label])
        more += statistic(y, right, shuffled) >= seen
    assert independence_p(table_of(y, right, value), "a") == pytest.approx((1 + more) / 1001, abs=0.04)


def test_as_chi_squared_of_many_samples() -> None:
    for seed in range(3):
        y, right, value = made(3000, 0.02, seed)
        expected = chi2.sf(statistic(y, right, value), df=2 * (3 - 1))
        assert independence_p(table_of(y, right, value), "a") == pytest.approx(expected, abs=0.02)


def test_no_more_false_alarms_than_it_says() -> None:
    """Small groups and many of them: the largest gap would always look large."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, value = rng.integers(0, 4, 200), rng.integers(0, 10, 200)
        alarms += independence_p(table_of(y, rng.random(200) < 0.7, value), "a") < 0.05
    assert alarms <= 8


def test_nothing_to_test() -> None:
    y = np.array([0, 0, 1, 1])
    assert independence_p(table_of(y, y == y, np.array([0, 1, 0, 1])), "a") == 1
    assert independence_p(table_of(y, y == 0, np.zeros(4, dtype=int)), "a") == 1
