"""Numbers with their intervals."""

import pytest

from fairflac.metrics import METRICS, Measured, measure
from fairflac.metrics.scores import ACCURACIES
from fairflac.reporting.results import further_metrics, result, rows, worst_of_attributes
from reporting.hand_made import MakeRun, table


def test_a_result_has_the_row_and_what_was_measured(make_run: MakeRun) -> None:
    predictions = table(1.0, 0.2)
    run = make_run("vanilla", predictions)
    made = result(rows([run])[0], predictions)
    assert made.measured("worst group") == measure(predictions)["worst_group"]
    assert made.measured("unbiased").value == pytest.approx(made.row.unbiased)  # type: ignore[union-attr]
    assert made.measured("seconds") is None


def test_of_several_attributes_the_worse_counts() -> None:
    numbers = {
        "accuracy": Measured(0.5, 0.4, 0.6, 9),
        "unbiased:hue": Measured(0.7, 0.6, 0.8, 9),
        "unbiased:size": Measured(0.3, 0.2, 0.4, 9),
        "p_rule:hue": Measured(0.9, 0.8, 1.0, 9),
        "p_rule:size": Measured(0.8, 0.7, 0.9, 9),
        "fnr_gap:hue": Measured(0.1, 0.0, 0.2, 9),
        "fnr_gap:size": Measured(0.2, 0.1, 0.3, 9),
        "aligned:hue": Measured(float("nan"), 0.0, 0.0, 0),
    }
    worst = worst_of_attributes(numbers)
    assert {name: number.value for name, number in worst.items()} == {
        "accuracy": 0.5,
        "unbiased": 0.3,
        "p_rule": 0.8,
        "fnr_gap": 0.2,
    }


def test_every_metric_has_a_name_and_a_meaning() -> None:
    assert set(further_metrics()) == set(METRICS) - set(ACCURACIES)
    assert all(metric.title and metric.meaning for metric in METRICS.values())
