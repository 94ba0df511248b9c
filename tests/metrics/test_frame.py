"""Scores of arrays against fairlearn's MetricFrame, whatever they come in, and what is wrong with them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fairlearn.metrics as reference
import numpy as np
import pandas
import pytest
from sklearn.metrics import accuracy_score

import fairflac
from fairflac.metrics import METRICS, score, summary
from prediction_table import make
from test_readme import blocks

RATES: dict[str, Callable[..., float]] = {
    "accuracy": accuracy_score,
    "selection_rate": reference.selection_rate,
    "false_positive_rate": reference.false_positive_rate,
    "false_negative_rate": reference.false_negative_rate,
}
RNG = np.random.default_rng(0)
Y, SEX, AGE = RNG.integers(0, 2, 400), RNG.choice(["f", "m"], 400), RNG.choice(["old", "young", "middle"], 400)
PREDICTED = np.where(RNG.random(400) < np.where(SEX == "f", 0.9, 0.7), Y, 1 - Y)


@pytest.mark.parametrize("features", [{"sex": SEX}, {"sex": SEX, "age": AGE}], ids=["one feature", "two features"])
def test_what_metric_frame_gives(features: dict[str, np.ndarray]) -> None:
    found = score(Y, PREDICTED, sensitive_features=features)
    frame = reference.MetricFrame(metrics=RATES, y_true=Y, y_pred=PREDICTED, sensitive_features=features)
    assert {name: one.value for name, one in found.overall.items()} == pytest.approx(frame.overall.to_dict())
    for group, expected in frame.by_group.iterrows():
        assert {name: one.value for name, one in found.by_group[group].items()} == pytest.approx(expected.to_dict())
    assert found.features == tuple(features) and len(found.by_group) == len(frame.by_group)
    fairness, gaps = found.fairness, frame.difference()
    assert fairness["demographic_parity_gap"].value == pytest.approx(gaps["selection_rate"])
    assert fairness["fpr_gap"].value == pytest.approx(gaps["false_positive_rate"])
    assert fairness["fnr_gap"].value == pytest.approx(gaps["false_negative_rate"])
    assert fairness["p_rule"].value == pytest.approx(frame.ratio()["selection_rate"])
    odds = reference.equalized_odds_difference(Y, PREDICTED, sensitive_features=pandas.DataFrame(features))
    assert fairness["equalised_odds_gap"].value == pytest.approx(odds)


def test_several_classes_have_accuracies_and_the_largest_gaps() -> None:
    y, predicted = (Y + (AGE == "old")) % 3, (PREDICTED + (AGE == "old")) % 3
    found = score(y, predicted, sensitive_features=SEX)
    frame = reference.MetricFrame(metrics=accuracy_score, y_true=y, y_pred=predicted, sensitive_features=SEX)
    assert {group: rates["accuracy"].value for group, rates in found.by_group.items()} == frame.by_group.to_dict()
    assert all(rates.keys() == {"accuracy"} for rates in (found.overall, *found.by_group.values()))
    worst = max(
        reference.demographic_parity_difference(y == c, predicted == c, sensitive_features=SEX) for c in range(3)
    )
    assert found.fairness["demographic_parity_gap"].value == pytest.approx(worst)


def test_the_numbers_are_those_of_a_table_of_predictions() -> None:
    """All but those that ask which value goes with which class, which nobody said."""
    tone = (SEX == "m").astype(int)
    found = score(Y, PREDICTED, sensitive_features=tone)
    expected = summary(make(Y.tolist(), tone.tolist(), PREDICTED.tolist()))
    assert found.fairness.keys() == METRICS.keys() - {"aligned", "conflicting", "bias_amplification"}
    assert all(one.value == pytest.approx(expected[name]) for name, one in found.fairness.items())


def test_intervals_hold_their_value() -> None:
    found = score(Y, PREDICTED, sensitive_features={"sex": SEX})
    for rates in (found.overall, *found.by_group.values()):
        assert all(one.low < one.value < one.high for one in rates.values())
    assert found.by_group["f"]["accuracy"].n == (SEX == "f").sum()
    assert found.by_group["f"]["false_positive_rate"].n == ((SEX == "f") & (Y == 0)).sum()


FRAME = pandas.DataFrame({"sex": SEX, "age": AGE})
WAYS: dict[str, tuple[Any, Any]] = {
    "list": (SEX.tolist(), SEX),
    "series": (FRAME["sex"], {"sex": SEX}),
    "categories": (FRAME["sex"].astype("category"), {"sex": SEX}),
    "data frame of one": (FRAME[["sex"]], {"sex": SEX}),
    "data frame": (FRAME, {"sex": SEX, "age": AGE}),
    "dict of lists": ({"sex": SEX.tolist(), "age": FRAME["age"]}, {"sex": SEX, "age": AGE}),
    "rows": (np.stack([SEX, AGE], 1).tolist(), np.stack([SEX, AGE], 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_features_may_come_as_they_are(way: str) -> None:
    given, same = WAYS[way]
    index = pandas.RangeIndex(1000, 1400)  # of no matter: rows go by position
    mine = score(pandas.Series(Y, index=index), PREDICTED.tolist(), sensitive_features=given)
    assert mine.to_dict() == score(Y, PREDICTED, sensitive_features=same).to_dict()


def test_unnamed_features_are_called_as_fairlearn_calls_them() -> None:
    both = np.stack([SEX, AGE], 1)
    frame = reference.MetricFrame(metrics=accuracy_score, y_true=Y, y_pred=PREDICTED, sensitive_features=both)
    assert list(score(Y, PREDICTED, sensitive_features=both).features) == frame.sensitive_levels


def test_classes_may_be_words() -> None:
    words = np.array(["no", "yes"])
    mine = score(words[Y], words[PREDICTED], sensitive_features=SEX)
    assert mine.to_dict() == score(Y.astype(bool), PREDICTED, sensitive_features=SEX).to_dict()


def test_one_group_is_as_fair_as_can_be() -> None:
    found = score(Y, PREDICTED, sensitive_features=["all"] * 400)
    assert found.fairness["p_rule"].value == 1 and found.fairness["equalised_odds_gap"].value == 0
    assert found.by_group["all"]["accuracy"].value == found.overall["accuracy"].value


def test_a_rate_of_no_samples_is_left_out() -> None:
    found = score([0, 0, 1], [0, 1, 1], sensitive_features=["a", "a", "b"])
    assert "false_positive_rate" not in found.by_group["b"] and "false_negative_rate" not in found.by_group["a"]
    assert "–" in str(found)


@pytest.mark.parametrize(
    ("y_true", "y_pred", "features", "message"),
    [
        ([0, 1], [0, 1, 1], ["a", "b"], "lengths differ: y_true has 2, y_pred has 3, "),
        ([0, 1], [0, 1], {"sex": ["a", "b", "b"]}, "sensitive feature 'sex' has 3"),
        ([0, 1], [0, 1], ["a", None], "'sensitive_feature_0' has no value in row 1: "),
        ([0, 1], [0, 1], {"sex": ["a", "b"], "age": [np.nan, np.nan]}, "'age' has no value in row 0 and 1 more: "),
        ([0, 1], [0, 1], ["a", float("nan")], "has no value in row 1"),
        ([0, 1], [0, 1], pandas.Series(["a", pandas.NA]), "has no value in row 1"),
        ([0, 1], [0, 1], np.ma.masked_equal([5, 7], 7), "has no value in row 1"),
        ([0, np.nan], [0, 1], ["a", "b"], "y_true has no value in row 1"),
        ([0, 1], [0.2, 0.9], ["a", "b"], "not probabilities"),
        ([0, 1], ["0", "1"], ["a", "b"], "classes are of several kinds"),
        ([0, 1], [0, 1], {}, "no column"),
        ([], [], [], "no samples"),
        ([[0, 1], [1, 0]], [0, 1], ["a", "b"], r"y_true must be one column of values, not of shape \(2, 2\)"),
    ],
)
def test_what_is_wrong_is_one_line(y_true: Any, y_pred: Any, features: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        score(y_true, y_pred, sensitive_features=features)
    assert "\n" not in str(caught.value)


def test_it_prints_a_table_and_becomes_json() -> None:
    found = fairflac.score(Y, PREDICTED, sensitive_features=FRAME)
    lines = str(found).splitlines()
    assert lines[0].split("  ")[0] == "sex, age" and lines[1].startswith("all ") and lines[2].startswith("f, middle ")
    assert any(line.startswith("p % rule") for line in lines)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["by_group"][0]["age"] == "middle" and plain["overall"]["accuracy"]["n"] == 400


def test_the_example_of_the_page_is_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    (program,), (printed,) = blocks("python", page), blocks("text", page)
    exec(compile(program, "docs/metrics.md", "exec"), {})
    assert capsys.readouterr().out == printed
