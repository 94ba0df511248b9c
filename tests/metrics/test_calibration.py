"""Expected calibration error, by a loop and at its ends."""

import numpy as np
import pytest

from fairflac.metrics.groups import calibration_error, calibration_interval


def test_by_a_loop() -> None:
    rng = np.random.default_rng(0)
    score, right = rng.random(500), rng.random(500) < 0.6
    total = 0.0
    for low in range(15):
        inside = (score >= low / 15) & (score < (low + 1) / 15)
        total += inside.sum() / 500 * abs(right[inside].mean() - score[inside].mean())
    assert calibration_error(score, right) == pytest.approx(total)


def test_ends() -> None:
    right = np.array([True, False] * 50)
    assert calibration_error(np.full(100, 0.5), right) == pytest.approx(0)
    assert calibration_error(np.ones(100), right) == 0.5  # always sure, right half of the time
    assert calibration_error(np.ones(3), np.ones(3, dtype=bool)) == 0


def test_interval_holds_the_error_of_other_samples() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(40):
        score = rng.uniform(0.5, 1, 400)
        low, high = calibration_interval(score, rng.random(400) < score - 0.3)
        inside += low <= 0.3 <= high
    assert inside >= 34
