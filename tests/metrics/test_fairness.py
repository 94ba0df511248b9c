"""By hand, against fairlearn, and what must hold for any table."""

import fairlearn.metrics as reference
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.metrics import count, summary
from fairflac.metrics.fairness import (
    bias_amplification,
    demographic_parity_gap,
    equalised_odds_gap,
    error_rate_gap,
    fnr_gap,
    fpr_gap,
    p_rule,
)
from prediction_table import make


def test_values_computed_by_hand() -> None:
    # t = 0: positives 2 of 4, FPR 1 of 2, FNR 1 of 2; t = 1: positives 1 of 3, FPR 0 of 1, FNR 1 of 2
    table = make([0, 0, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0])
    assert p_rule(count(table, "tone")) == pytest.approx((1 / 3) / (2 / 4))
    assert fpr_gap(count(table, "tone")) == pytest.approx(1 / 2)
    assert fnr_gap(count(table, "tone")) == pytest.approx(0)
    assert summary(table)["error_rate_gap"] == error_rate_gap(count(table, "tone")) == pytest.approx(1 / 2)


bits = st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=8, max_size=40)


@given(bits)
@settings(deadline=None, max_examples=40)
def test_two_classes_against_fairlearn(rows: list[tuple[int, int, int]]) -> None:
    everybody = [(y, t, p) for y in (0, 1) for t in (0, 1) for p in (0, 1)]  # no rate without samples
    y, t, p = (np.array(column) for column in zip(*everybody, *rows, strict=True))
    table = make(y.tolist(), t.tolist(), p.tolist())
    assert p_rule(count(table, "tone")) == pytest.approx(reference.demographic_parity_ratio(y, p, sensitive_features=t))
    gap = reference.demographic_parity_difference(y, p, sensitive_features=t)
    assert demographic_parity_gap(count(table, "tone")) == pytest.approx(gap)
    odds = reference.equalized_odds_difference(y, p, sensitive_features=t)
    assert equalised_odds_gap(count(table, "tone")) == pytest.approx(odds)
    for mine, rate in ((fpr_gap, reference.false_positive_rate), (fnr_gap, reference.false_negative_rate)):
        frame = reference.MetricFrame(metrics=rate, y_true=y, y_pred=p, sensitive_features=t)
        assert mine(count(table, "tone")) == pytest.approx(frame.difference())


def test_several_classes_and_values_take_the_worst() -> None:
    y, t = [0, 1, 2] * 6, [0] * 6 + [1] * 6 + [2] * 6
    fair = make(y, t, y)
    assert p_rule(count(fair, "tone")) == 1 and error_rate_gap(count(fair, "tone")) == 0
    prediction = np.array(y)
    prediction[t.index(2) :][prediction[t.index(2) :] == 2] = 0  # class 2 is never seen where t = 2
    unfair = make(y, t, prediction.tolist())
    assert p_rule(count(unfair, "tone")) == 0
    assert fnr_gap(count(unfair, "tone")) == 1 and fpr_gap(count(unfair, "tone")) == pytest.approx(1 / 2)


def test_rates_without_samples_are_left_out() -> None:
    table = make([0, 0, 0], [0, 1, 1], [0, 0, 0])
    assert (
        p_rule(count(table, "tone")) == 1 and fnr_gap(count(table, "tone")) == 0 and fpr_gap(count(table, "tone")) == 0
    )


def test_bias_amplification_by_a_loop() -> None:
    rng = np.random.default_rng(0)
    y, t, p = rng.integers(0, 3, (3, 200))
    terms = []
    for c in range(3):
        for value in range(3):
            difference = np.mean(p[t == value] == c) - np.mean(y[t == value] == c)
            terms.append(difference if c == value else -difference)
    table = make(y.tolist(), t.tolist(), p.tolist())
    assert bias_amplification(count(table, "tone")) == pytest.approx(np.mean(terms))


def test_bias_amplification_of_extremes() -> None:
    y, t = [0, 0, 1, 1], [0, 1, 0, 1]
    assert bias_amplification(count(make(y, t, y), "tone")) == 0
    assert bias_amplification(count(make(y, t, t), "tone")) == 0.5  # half of each value is named wrongly for it
    assert bias_amplification(count(make(y, t, [1 - value for value in t]), "tone")) == -0.5
