"""Bars: which are drawn, and of many classes which."""

from fairflac.metrics import Measured
from fairflac.reporting.charts import MOST_CLASSES, class_chart, shortcut_chart
from fairflac.reporting.results import ClassLine


def share(value: float) -> Measured:
    return Measured(value, value - 0.1, value + 0.1, 50)


def test_two_bars_for_each_model_that_knows_the_shortcut() -> None:
    numbers = {"vanilla": {"aligned": share(0.9), "conflicting": share(0.2)}, "other": {"accuracy": share(0.5)}}
    chart = shortcut_chart(numbers, "hue", {"vanilla": "reads the hue"})
    assert chart is not None and [group.label for group in chart.groups] == ["vanilla"]
    assert chart.groups[0].bars == {"hue goes with the class": share(0.9), "hue misleads": share(0.2)}
    assert chart.groups[0].note == "reads the hue"
    assert shortcut_chart({"other": numbers["other"]}, "hue", {}) is None


def test_of_many_classes_those_that_changed_most_in_their_order() -> None:
    lines = [ClassLine(str(k), 50, {"a": share(0.5), "b": share(0.5 + k / 200)}) for k in range(30)]
    chart = class_chart(lines)
    assert [group.label for group in chart.groups] == [str(k) for k in range(10, 30)] and chart.left_out == 10
    few = class_chart(lines[:MOST_CLASSES])
    assert len(few.groups) == MOST_CLASSES and few.left_out == 0 and few.series == ["a", "b"]
    alone = class_chart([ClassLine(str(k), 50, {"a": share(0.5 + k / 200)}) for k in range(30)])
    assert [group.label for group in alone.groups] == [str(k) for k in range(MOST_CLASSES)]  # the worst
