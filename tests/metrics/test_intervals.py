"""Bootstrap by counts against one that draws images, differences of shares, and whether intervals hold the truth."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from fairflac.metrics import METRICS, Measured, count, group_table, measure, summary
from fairflac.metrics import intervals as module
from fairflac.metrics.intervals import (
    clopper_pearson_if_constant,
    difference,
    intervals,
    paired_difference,
    share,
    share_interval,
)
from fairflac.metrics.predictions import Predictions
from prediction_table import make


def planted(n: int, seed: int = 0) -> Predictions:
    """Three classes and three values; right in 90 % of the images where both agree, and in 60 % of the others."""
    rng = np.random.default_rng(seed)
    y, t, other = rng.integers(0, 3, (3, n))
    right = rng.random(n) < np.where(y == t, 0.9, 0.6)
    return make(y.tolist(), t.tolist(), np.where(right, y, other).tolist())


def drawn_image_by_image(table: Predictions, rng: np.random.Generator) -> Predictions:
    """Within each group, with replacement."""
    rows = np.arange(len(table))
    for y in range(3):
        for t in range(3):
            group = np.flatnonzero((table.y == y) & (table.bias["tone"] == t))
            rows[group] = rng.choice(group, len(group))
    return make(table.y[rows].tolist(), table.bias["tone"][rows].tolist(), table.prediction[rows].tolist())


def test_counts_are_drawn_as_images_are() -> None:
    table, rng = planted(300), np.random.default_rng(1)
    resamples = [count(drawn_image_by_image(table, rng), "tone") for _ in range(400)]
    for name, (low, high) in intervals(count(table, "tone"), METRICS).items():
        slow = np.quantile([METRICS[name](counts) for counts in resamples], [0.025, 0.975])
        assert (low, high) == pytest.approx(slow, abs=0.035), name


def test_intervals_hold_the_truth() -> None:
    """Unbiased accuracy is (3 · (0.9 + 0.1 / 3) + 6 · (0.6 + 0.4 / 3)) / 9 by construction."""
    truth = (3 * (0.9 + 0.1 / 3) + 6 * (0.6 + 0.4 / 3)) / 9
    measured = [measure(planted(300, seed))["unbiased"] for seed in range(60)]
    assert sum(one.low <= truth <= one.high for one in measured) >= 52


def test_every_number_has_its_interval_and_images() -> None:
    table = planted(300)
    numbers, plain = measure(table), summary(table)
    assert {name: one.value for name, one in numbers.items()} | {"n": 300} == pytest.approx(plain)
    assert set(numbers) == {"accuracy", *METRICS}
    assert all(one.low <= one.value <= one.high for name, one in numbers.items() if name not in BIASED)
    agree = int((table.y == table.bias["tone"]).sum())
    assert (numbers["aligned"].n, numbers["conflicting"].n, numbers["unbiased"].n) == (agree, 300 - agree, 300)
    groups = group_table(table, "tone")
    assert numbers["worst_group"].n == min(groups, key=lambda row: row.accuracy).n


# The largest or smallest of several noisy numbers is more extreme in a resample, so intervals lie to one side.
BIASED = {
    "worst_group",
    "p_rule",
    "fpr_gap",
    "fnr_gap",
    "error_rate_gap",
    "demographic_parity_gap",
    "equalised_odds_gap",
}


def test_many_classes_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = count(planted(300), "tone")
    whole = intervals(counts, METRICS)
    monkeypatch.setattr(module, "CHUNK", counts.n.size * 7)
    parts = intervals(counts, METRICS)
    assert parts["unbiased"] == pytest.approx(whole["unbiased"], abs=0.01)


def test_groups_have_intervals_and_small_ones_are_flagged() -> None:
    table = planted(250)
    groups = group_table(table, "tone")
    assert all(row.small == (row.n < 30) for row in groups) and 0 < sum(row.small for row in groups) < 9
    rng = np.random.default_rng(0)
    for row in groups:
        inside = (table.y == row.y) & (table.bias["tone"] == row.bias)
        right = (table.prediction == table.y)[inside]
        if right.all() or not right.any():
            continue  # see below
        means = [rng.choice(right, len(right)).mean() for _ in range(2000)]
        assert (row.low, row.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.04)


@pytest.mark.parametrize("n", [1, 8, 100, 5000])
@pytest.mark.parametrize("share", [0, 1])
def test_all_right_or_all_wrong_is_not_certain(n: int, share: int) -> None:
    exact = binomtest(n * share, n).proportion_ci(confidence_level=0.95, method="exact")
    assert share_interval(share, n) == pytest.approx((exact.low, exact.high))


def test_other_shares_keep_their_bootstrap() -> None:
    assert clopper_pearson_if_constant(0.5, (0.4, 0.6), 10) == (0.4, 0.6)
    assert share_interval(0.5, 4) == (0, 1)


@pytest.mark.parametrize(("count", "n"), [(1, 4), (3, 7), (99, 100), (250, 1000)])
def test_no_share_is_certain(count: int, n: int) -> None:
    share = count / n
    exact = binomtest(count, n).proportion_ci(confidence_level=0.95, method="exact")
    assert clopper_pearson_if_constant(share, (share, share), n) == pytest.approx((exact.low, exact.high))


@given(st.floats(0.001, 0.999), st.floats(1, 1e4))
def test_an_exact_interval_holds_its_share(share: float, n: float) -> None:
    low, high = clopper_pearson_if_constant(share, (share, share), n)
    assert 0 <= low <= share <= high <= 1 and low < high


def test_accuracies_of_perfect_and_hopeless_groups_have_a_width() -> None:
    """Right where the value goes with the class (2 and 6 images) and wrong elsewhere (4 and 8)."""
    y, t = [0] * 6 + [1] * 14, [0] * 2 + [1] * 4 + [1] * 6 + [0] * 8
    table = make(y, t, t)
    numbers = measure(table)
    alike = 4 / (1 / 2 + 1 / 6)  # images in two groups of equal size that would be as sure
    assert numbers["aligned"][:4] == (1, pytest.approx(0.025 ** (1 / alike)), 1, 8)
    alike = 4 / (1 / 4 + 1 / 8)
    assert numbers["conflicting"][:4] == (0, 0, pytest.approx(1 - 0.025 ** (1 / alike)), 12)
    hopeless = binomtest(0, 8).proportion_ci(method="exact")  # of two such groups the larger one is surer
    assert numbers["worst_group"][:4] == (0, 0, pytest.approx(hopeless.high), 8)
    groups = group_table(table, "tone")
    assert all(row.high - row.low > 0.3 for row in groups)


def test_a_perfect_table_has_the_interval_of_all_its_images() -> None:
    y = [0, 1] * 50
    exact = binomtest(100, 100).proportion_ci(method="exact")
    assert measure(make(y, y, y))["accuracy"] == (1, pytest.approx(exact.low), 1, 100)


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


def test_intervals_of_differences_hold_the_truth() -> None:
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        first = rng.random(120) < 0.95
        found = paired_difference(first, first ^ (rng.random(120) < 0.05))
        held += found.low <= 0.95 - (0.95 * 0.95 + 0.05 * 0.05) <= found.high
    assert held >= 0.93 * 300
