"""Predictions that were made elsewhere: numbers as fairlearn has them, a plain answer, and names that stay text."""

import json
from pathlib import Path

import numpy as np
import pytest
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_ratio,
    equalized_odds_difference,
    false_negative_rate,
    false_positive_rate,
    selection_rate,
)
from sklearn.metrics import accuracy_score

from browser import Browser, chromium
from fairflac import audit_predictions
from fairflac.auditing.fairness import FairnessAudit, answer, contrast, main_attribute, surest_and_wrong
from fairflac.auditing.fairness_page import as_json, as_text, render, write

EVIL = "<img src=x onerror=alert(1)>"


def columns(n: int = 1200, gap: float = 0.3, seed: int = 0) -> dict[str, list[str]]:
    """Right nine times of ten, and less often by `gap` for women who are nurses."""
    rng = np.random.default_rng(seed)
    nurse, male, age = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    right = rng.random(n) < 0.9 - gap * ((nurse == 1) & (male == 0))
    names = np.array(["engineer", "nurse"])
    return {
        "label": names[nurse].tolist(),
        "prediction": names[np.where(right, nurse, 1 - nurse)].tolist(),
        "confidence": rng.uniform(0.5, 1, n).tolist(),
        "sex": np.array(["f", "m"])[male].tolist(),
        "age": np.array(["young", "middle", "old"])[age].tolist(),
    }


@pytest.fixture(scope="module")
def found() -> FairnessAudit:
    return audit_predictions(columns())


def test_as_fairlearn_has_it(found: FairnessAudit) -> None:
    given = columns()
    truth, said = ([int(one == "nurse") for one in given[name]] for name in ("label", "prediction"))
    rates = {
        "accuracy": accuracy_score,
        "selection_rate": selection_rate,
        "false_positive_rate": false_positive_rate,
        "false_negative_rate": false_negative_rate,
    }
    for attribute in ("sex", "age"):
        theirs = MetricFrame(metrics=rates, y_true=truth, y_pred=said, sensitive_features=given[attribute])
        ours = as_json(found)["models"]["prediction"]["by_attribute"][attribute]
        for name in rates:
            assert ours["overall"][name]["value"] == pytest.approx(theirs.overall[name])
            for value, numbers in ours["by_value"].items():
                assert numbers[name]["value"] == pytest.approx(theirs.by_group[name][value])
                assert numbers[name]["low"] <= numbers[name]["value"] <= numbers[name]["high"]
        options = {"y_true": truth, "y_pred": said, "sensitive_features": given[attribute]}
        assert ours["fairness"]["p_rule"]["value"] == pytest.approx(demographic_parity_ratio(**options))
        assert ours["fairness"]["equalised_odds_gap"]["value"] == pytest.approx(equalized_odds_difference(**options))
        groups = MetricFrame(
            metrics=accuracy_score,
            y_true=truth,
            y_pred=said,
            sensitive_features={"label": given["label"], attribute: given[attribute]},
        ).by_group
        for group in found.dependence["prediction"][attribute].groups:
            names = found.file.names
            place = names.of_class(group.y), names.of_value(attribute, group.value)
            assert group.accuracy.value == pytest.approx(groups[place])
        assert ours["fairness"]["worst_group"]["value"] == pytest.approx(groups.min())


def test_what_depends_is_told_from_what_does_not(found: FairnessAudit) -> None:
    by = found.dependence["prediction"]
    assert by["sex"].word == "depends" and by["age"].word == "no evidence" and main_attribute(found) == "sex"
    names = found.file.names
    assert (names.of_class(by["sex"].worst.y), names.of_value("sex", by["sex"].worst.value)) == ("nurse", "f")
    said = answer(found)
    assert said[0] == "How often it is right depends on the sex."
    assert "of “nurse” where the sex is m" in said[1] and "debias" in said[2]
    bars = contrast(found).bars["prediction"]
    assert [bar.label for bar in bars if bar.against] == ["nurse, f"] and len(bars) == 4


def test_equal_groups_few_rows_and_no_attribute() -> None:
    equal = audit_predictions(columns(gap=0.0, seed=4))
    assert answer(equal)[0] == "No evidence that how often it is right depends on the sex or the age."
    assert not any(bar.against for bar in contrast(equal).bars["prediction"])
    assert answer(audit_predictions(columns(60, gap=0.0)))[0] == "Too few rows to tell."
    alike = audit_predictions({"label": ["a", "b"] * 80, "prediction": ["a"] * 160, "sex": ["f", "f", "m", "m"] * 40})
    assert "where the sex is m, and on 100 % where it is f" in answer(alike)[1]  # two groups, though equal ones
    alone = audit_predictions({"label": ["a", "b"] * 80, "prediction": ["a"] * 160, "room": ["x", "y"] * 80})
    assert answer(alone)[1] == "No class has rows of two values of the room." and "differ most" not in as_text(alone)
    bare = {name: values for name, values in columns().items() if name in ("label", "prediction")}
    nothing = audit_predictions(bare)
    assert answer(nothing)[0] == "Nothing can be said about groups." and contrast(nothing).kind == "class"
    assert "Every class" in render(nothing) and "engineer" in as_text(nothing)


def test_several_models_are_compared_row_by_row() -> None:
    given = columns()
    given["better"] = columns(gap=0.0, seed=0)["prediction"]
    del given["confidence"]
    found = audit_predictions(given, prediction=["prediction", "better"], attributes=["sex"])
    said = " ".join(answer(found))
    assert "prediction: how often it is right depends on the sex. better: no evidence" in said
    assert "The largest difference inside a class falls from" in said
    assert "Take better: it is right" in said and found.differences("better")["sex"].clear
    twice = audit_predictions(given | {"copy": given["prediction"]}, prediction=["prediction", "copy"])
    assert answer(twice)[0] == "All of them: how often they are right depends on the sex."
    assert "The largest difference inside a class stays at" in " ".join(answer(twice))
    page = render(found)
    assert "better against prediction, row by row" in page and page.count("<h2>better</h2>") == 1
    assert as_json(found)["against_first"]["better"]["accuracy"]["difference"] > 0


def test_many_groups_are_shown_in_part() -> None:
    rng = np.random.default_rng(0)
    y, place = rng.integers(0, 5, 3000), rng.integers(0, 20, 3000)
    said = np.where((place == 7) & (y == 2), 0, y)
    found = audit_predictions({"label": y, "prediction": said, "place": [f"p{one}" for one in place]})
    bars = contrast(found).bars["prediction"]
    assert len(bars) <= 13 and [bar.label for bar in bars if bar.against] == ["2, p7"]
    assert "All 100 groups" in as_text(found)


def test_the_surest_mistakes_have_lines(found: FairnessAudit) -> None:
    rows, table = surest_and_wrong(found, "prediction"), found.file.tables["prediction"]
    wrong = np.flatnonzero(table.prediction != table.y)
    assert sorted(table.score[wrong])[-3:][::-1] == table.score[rows].tolist()
    assert f"row {rows[0]}" in render(found) and "surest of, and wrong" in render(found)


def test_names_out_of_a_file_stay_text(tmp_path: Path) -> None:
    given = columns(400)
    given['"><script>alert(2)</script>'] = [EVIL if one == "f" else "\x1b[31mm\n\u202e" for one in given.pop("sex")]
    given["label"] = [one.replace("nurse", EVIL) for one in given["label"]]
    given["prediction"] = [one.replace("nurse", EVIL) for one in given["prediction"]]
    found = audit_predictions(given, output=tmp_path / "page.html")
    page, text = (tmp_path / "page.html").read_text(), as_text(found)
    assert EVIL not in page and "<script>alert" not in page and "&lt;img src=x" in page
    assert not set(text) & set("\x1b\u202e") and json.dumps(as_json(found)).isascii()
    executable = chromium()
    if executable is None:
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with Browser(executable) as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.open(tmp_path / "page.html", width=width, dark=dark)
            assert browser.complaints() == [] and browser.run("document.scripts.length + document.images.length") == 1
            assert browser.run("document.documentElement.scrollWidth") <= width
            browser.run("document.querySelectorAll('details').forEach(e => { e.open = true; })")
            cut = "[...document.querySelectorAll('.side, .side td')].filter(e => e.scrollWidth > e.clientWidth + 1)"
            assert browser.run(f"{cut}.length") == 0


def test_a_page_is_written(found: FairnessAudit, tmp_path: Path) -> None:
    write(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    order = [
        "depends on the sex.",
        '<figure class="bars">',
        "surest of, and wrong",
        "<summary>By sex",
        "80\N{NO-BREAK SPACE}% is",
    ]
    assert [page.index(part) for part in order] == sorted(page.index(part) for part in order)
