import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.metrics import accuracy, group_accuracy, summary
from fairflac.predictions import Predictions


def make(y: list[int], bias: list[int], prediction: list[int], attributes: int = 1) -> Predictions:
    a, b = np.array(y), np.array(bias)
    names = ["tone", "size"][:attributes]
    values = {"tone": b, "size": (b + a) % 2}
    return Predictions(
        index=np.arange(len(a)),
        y=a,
        prediction=np.array(prediction),
        score=np.ones(len(a)),
        features=np.ones((len(a), 2)),
        bias={name: values[name] for name in names},
        aligned={name: values[name] == a for name in names},
    )


def test_values_computed_by_hand() -> None:
    # groups (y, bias): (0,0) 2 of 3 right; (0,1) 0 of 1; (1,1) 1 of 1; (1,0) is empty
    table = make([0, 0, 0, 0, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    numbers = summary(table)
    assert accuracy(table) == pytest.approx(3 / 5)
    assert numbers["unbiased"] == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert numbers["aligned"] == pytest.approx((2 / 3 + 1) / 2)
    assert numbers["conflicting"] == 0 and numbers["worst_group"] == 0 and numbers["n"] == 5
    assert group_accuracy(table, "tone").n.tolist() == [3, 1, 1]


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
