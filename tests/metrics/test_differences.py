"""Differences of shares: by hand, and what no table may break."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.metrics import Measured
from fairflac.metrics.intervals import difference, paired_difference, share

COLUMN = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=80)


@pytest.mark.parametrize("all_alike", [True, False])
@pytest.mark.parametrize("n", [10, 60, 500])
def test_two_shares_that_are_all_or_nothing_differ_by_about_zero(n: int, all_alike: bool) -> None:
    """Both are 1 (or 0): neither may be off by more than what n images would have shown in 2.5 of 100 cases."""
    column = np.full(n, all_alike)
    found = paired_difference(column, column)
    unseen = 1 - 0.025 ** (1 / n)
    assert found == (0, pytest.approx(-unseen), pytest.approx(unseen), n)


def test_of_different_images_by_hand() -> None:
    found = difference(Measured(0.8, 0.7, 0.9, 50), Measured(0.3, 0.2, 0.6, 20))
    assert found.value == pytest.approx(0.5) and found.n == 70
    assert found.low == pytest.approx(0.5 - sqrt(0.1**2 + 0.3**2))
    assert found.high == pytest.approx(0.5 + sqrt(0.1**2 + 0.1**2))


def test_images_that_change_together_make_it_surer() -> None:
    rng = np.random.default_rng(0)
    first = rng.random(400) < 0.5
    second = first & (rng.random(400) < 0.9)
    paired, apart = paired_difference(first, second), difference(share(first), share(second))
    assert paired.value == apart.value and paired.high - paired.low < 0.6 * (apart.high - apart.low)
    resampled = [(first.astype(float) - second)[rng.integers(0, 400, 400)].mean() for _ in range(2000)]
    assert (paired.low, paired.high) == pytest.approx(np.quantile(resampled, [0.025, 0.975]), abs=0.02)


@settings(deadline=None, max_examples=200)
@given(COLUMN)
def test_an_interval_holds_its_value_has_a_width_and_ends_at_one(columns: list[tuple[bool, bool]]) -> None:
    first, second = np.array(columns).T
    for found in (paired_difference(first, second), difference(share(first), share(second))):
        assert -1 <= found.low <= found.value <= found.high <= 1 and found.low < found.high


def test_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        first = rng.random(120) < 0.95
        found = paired_difference(first, first ^ (rng.random(120) < 0.05))
        held += found.low <= 0.95 - (0.95 * 0.95 + 0.05 * 0.05) <= found.high
    assert held >= 0.93 * 300
