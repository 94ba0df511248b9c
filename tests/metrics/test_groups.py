"""Groups, classes and calibration, by hand and by loops."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.metrics import METRICS, accuracy, group_table, summary
from fairflac.metrics.groups import (
    calibration_error,
    calibration_interval,
    class_accuracy,
    confusion,
    majority,
    weakest,
)
from fairflac.metrics.predictions import Predictions
from fairflac.types import Attribute, TaskSpec
from prediction_table import make


def test_values_computed_by_hand() -> None:
    # groups (y, bias): (0,0) 2 of 3 right; (0,1) 0 of 1; (1,1) 1 of 1; (1,0) is empty
    table = make([0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    numbers = summary(table)
    assert accuracy(table) == pytest.approx(3 / 5)
    assert numbers["unbiased"] == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert numbers["aligned"] == pytest.approx((2 / 3 + 1) / 2)
    assert numbers["conflicting"] == 0 and numbers["worst_group"] == 0 and numbers["n"] == 5
    assert [row.n for row in group_table(table, "tone")] == [3, 1, 1]


def test_several_attributes_carry_their_names() -> None:
    numbers = summary(make([0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 1, 1], attributes=2))
    assert {"unbiased:tone", "unbiased:size", "worst_group:size"} <= set(numbers)


def test_without_attributes_only_accuracy_is_known() -> None:
    assert summary(make([0, 1], [0, 1], [0, 0], attributes=0)) == {"accuracy": 0.5, "n": 2}


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_unbiased_is_the_mean_over_groups(samples: list[tuple[int, int, int]]) -> None:
    y, bias, prediction = (list(column) for column in zip(*samples, strict=True))
    groups = {(a, b) for a, b in zip(y, bias, strict=True)}
    right = [
        np.mean([p == a for a, b, p in samples if (a, b) == group])  # one group at a time
        for group in groups
    ]
    numbers = summary(make(y, bias, prediction))
    assert numbers["unbiased"] == pytest.approx(np.mean(right))
    assert numbers["worst_group"] == pytest.approx(min(right))


def test_small_cells_do_not_count_and_repeats_are_averaged() -> None:
    """As on 9-class ImageNet, by hand: two clusterings of the same 8 images, cells of two images or more."""
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    prediction = [0, 0, 1, 1, 1, 1, 1, 0]
    first = [0, 0, 0, 1, 0, 0, 1, 1]  # (0,0) 2 of 3; (0,1) one image; (1,0) 2 of 2; (1,1) 1 of 2
    second = [0, 1, 1, 1, 1, 1, 1, 1]  # (0,0) one image; (0,1) 1 of 3; (1,1) 3 of 4
    table = replace(
        make(y, first, prediction, attributes=0),
        bias={"texture1": np.array(first), "texture2": np.array(second)},
        aligned={"texture1": np.array(first) == y, "texture2": np.array(second) == y},
        min_cell={"texture1": 2, "texture2": 2},
        repeats={"texture1": "texture", "texture2": "texture"},
    )
    numbers = summary(table)
    assert set(numbers) == {"accuracy", "n", *METRICS}
    assert numbers["unbiased"] == pytest.approx(((2 / 3 + 1 + 1 / 2) / 3 + (1 / 3 + 3 / 4) / 2) / 2)
    assert numbers["aligned"] == pytest.approx(((2 / 3 + 1 / 2) / 2 + 3 / 4) / 2)
    assert numbers["conflicting"] == pytest.approx((1 + 1 / 3) / 2)
    assert numbers["worst_group"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert [row.n for row in group_table(table, "texture1")] == [3, 2, 2]
    assert accuracy(table) == 5 / 8  # all images count here


def test_no_cell_is_large_enough() -> None:
    table = replace(make([0, 1], [0, 1], [0, 0]), min_cell={"tone": 10})
    assert summary(table) == {"accuracy": 0.5, "n": 2}


def test_what_counts_is_stored_with_the_predictions(tmp_path: Path) -> None:
    table = replace(make([0, 1], [0, 1], [0, 0]), min_cell={"tone": 10}, repeats={"tone": "shade"})
    table.save(tmp_path / "new.npz")
    stored = Predictions.load(tmp_path / "new.npz")
    assert stored.min_cell == {"tone": 10} and stored.repeats == {"tone": "shade"}
    make([0, 1], [0, 1], [0, 0]).save(tmp_path / "old.npz")
    assert Predictions.load(tmp_path / "old.npz").min_cell == {}


def test_tasks_stored_before_there_were_small_cells() -> None:
    attribute = Attribute(("0", "1"), (0, 1), min_cell=10, repeats="texture")
    task = TaskSpec(("a", "b"), {"texture1": attribute}, (8, 8), (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    assert TaskSpec.from_dict(task.to_dict()) == task
    old = task.to_dict()
    del old["attributes"]["texture1"]["min_cell"], old["attributes"]["texture1"]["repeats"]
    assert TaskSpec.from_dict(old).attributes["texture1"] == Attribute(("0", "1"), (0, 1))


Y = [0] * 40 + [1] * 20 + [2] * 40
SAID = [0] * 30 + [1] * 10 + [1] * 20 + [0] * 40


def test_confusion_and_accuracy_of_each_class() -> None:
    table = make(Y, Y, SAID, attributes=0)
    assert confusion(table).tolist() == [[30, 10, 0], [0, 20, 0], [40, 0, 0]]
    assert confusion(table, classes=4).shape == (4, 4)
    found = class_accuracy(table)
    assert [one.value for one in found.values()] == [0.75, 1.0, 0.0] and [one.n for one in found.values()] == [
        40,
        20,
        40,
    ]
    assert 0.8 < found[1].low < 1 == found[1].high
    assert list(class_accuracy(table.take(np.arange(40, 60)))) == [1]


def test_the_most_frequent_class_of_the_training_images() -> None:
    table = make(Y, Y, SAID, attributes=0)
    found = majority(table, [50, 10, 40])
    assert (found.label, found.accuracy.value) == (0, 0.4)
    assert found.right.value == 0.5 and not found.beaten  # 10 of 100 images more: may be chance
    assert majority(table, [10, 50, 40]).beaten
    assert not majority(make(Y, Y, [0] * 100, attributes=0), [50, 10, 40]).beaten


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


def test_the_weakest_part_is_a_class_or_a_group_that_is_large_enough() -> None:
    """Class 1 is right on its 30 images with value 0, and on none of its 30 with value 1."""
    y, value = [0] * 60 + [1] * 60, [0] * 60 + [0] * 30 + [1] * 30
    right = [0] * 60 + [1] * 30 + [0] * 30
    found = weakest(make(y, value, right))
    assert found is not None and (found.label, found.attribute, found.value) == (1, "tone", 1)
    assert found.accuracy.value == 0 and found.accuracy.n == 30
    few = make(y[:-5], value[:-5], right[:-5])  # 25 images are too few to be named
    by_class = weakest(few)
    assert by_class is not None and by_class.attribute is None and by_class.label == 1
    assert by_class.accuracy.value == pytest.approx(30 / 55)
    assert weakest(make(y, value, y)) is None  # all alike
