"""The verdict: each thing it can say, said when the numbers say so."""

from dataclasses import replace
from typing import Any

import pytest

from fairflac.report.models import effective_size, models
from fairflac.report.tables import rows
from fairflac.report.verdict import margin, verdict
from fairflac.runs import Run
from report.hand_made import PER_GROUP, MakeRun, table


def said(runs: list[Run], shortcut: str = "hue") -> list[str]:
    answers = verdict(models(runs), shortcut, effective_size(runs[0].predictions))
    return [*answers.lean, *answers.gain]


def test_each_question_has_its_own_answer(make_run: MakeRun) -> None:
    runs = [make_run("flac", table(0.95, 0.75)), make_run("vanilla", table(1.0, 0.2))]
    answers = verdict(models(runs), "hue", effective_size(runs[0].predictions))
    assert ["vanilla" in words and "reads the hue" in words for words in answers.lean] == [True]
    assert ["The flac model" in words and "This helps" in words for words in answers.gain] == [True]


def test_help(make_run: MakeRun, bias_model: dict[str, Any]) -> None:
    first, second = said(
        [make_run("vanilla", table(1.0, 0.2)), make_run("flac", table(0.95, 0.75), bias_model=bias_model)]
    )
    assert first == (
        "The vanilla model is right on 100 % of the test images where the hue goes with the class and on 20.0 % where "
        "it does not: it reads the hue."
    )
    assert second.startswith(
        "The flac model, whose bias model learnt the hue from labels of other data (toy, q = 0.25), is right on 95.0 %"
    )
    assert "This helps: with every group counted alike it is right on 80.0 %, the vanilla model on 40.0 %" in second
    assert (
        "a gap of 20.0 points is left, and in its worst group, one class with one hue, it is right on 75.0 %" in second
    )


def test_help_without_a_rest(make_run: MakeRun) -> None:
    second = said([make_run("vanilla", table(1.0, 0.05)), make_run("flac", table(1.0, 1.0))])[1]
    assert "This helps" in second and "makes little difference" in second and "gap" not in second


@pytest.mark.parametrize(
    ("aligned", "conflicting", "words"),
    [
        (1.0, 0.5, "This is no clear help"),
        (1.0, 0.55, "This is no clear help"),  # 3.8 points on 320 images can be chance
        (0.9, 0.2, "This did not help"),
    ],
)
def test_no_help(make_run: MakeRun, aligned: float, conflicting: float, words: str) -> None:
    second = said([make_run("vanilla", table(1.0, 0.5)), make_run("flac", table(aligned, conflicting))])[1]
    assert words in second and "This helps" not in second


def test_a_gain_elsewhere_is_no_help_against_the_shortcut(make_run: MakeRun) -> None:
    second = said([make_run("vanilla", table(0.1, 0.5)), make_run("flac", table(1.0, 0.5))])[1]
    assert "no help against the shortcut" in second and "This helps" not in second


@pytest.mark.parametrize(
    ("conflicting", "words"), [(0.1, "it reads the"), (0.7, "it leans on the"), (1.0, "no sign that it leans on the")]
)
def test_lean_of_a_model_alone(make_run: MakeRun, conflicting: float, words: str) -> None:
    (alone,) = said([make_run("vanilla", table(1.0, conflicting))])
    assert f"{words} hue." in alone


def test_no_vanilla(make_run: MakeRun) -> None:
    *_, last = paragraphs = said([make_run("flac", table(1.0, 0.9)), make_run("flac-b", table(1.0, 0.8))])
    assert len(paragraphs) == 3 and "no vanilla model" in last
    assert not any("helps" in paragraph for paragraph in paragraphs)


def test_no_attribute(make_run: MakeRun) -> None:
    unknown = table(0.5, 0.5, attributes=())
    (only,) = said([make_run("vanilla", unknown), make_run("flac", unknown)])
    assert "not say whether a model leans" in only and "vanilla 50.0 %, flac 50.0 %" in only


def test_which_labels_were_used(make_run: MakeRun, bias_model: dict[str, Any]) -> None:
    numbers = table(1.0, 0.5)
    runs = [
        make_run("flac", numbers, run_id="other", bias_model=bias_model),
        make_run("flac", numbers, run_id="same", bias_model=bias_model | {"data_options": {"q": 0.9}}),
        make_run("flac-b", numbers, bias_model=bias_model | {"target": "class"}),
        make_run("flac", numbers, run_id="oracle", bias_model=bias_model, train={"selection": "oracle-unbiased"}),
        make_run("di", numbers, attribute_labels=1.0),
        make_run("ssa", numbers, attribute_labels=0.1),
    ]
    other, same, none, oracle, all_labels, some_labels, _ = said(runs)
    assert "The flac (other) model, whose bias model learnt the hue from labels of other data" in other
    assert "whose bias model had the hue labels of the same images" in same
    assert "without a single hue label" in none
    assert "whose checkpoint was chosen with hue labels" in oracle
    assert "The di model, which had the hue labels of its training images, is" in all_labels
    assert "The ssa model, which had the hue labels of 10 % of its training images, is" in some_labels
    assert [row.labels for row in rows(runs)] == [
        "class, attribute of other data",
        "class, attribute",
        "class",
        "class, attribute to select",
        "class, attribute",
        "class, attribute of 10 %",
    ]


def test_seeds_are_averaged_and_the_best_vanilla_is_the_measure(make_run: MakeRun) -> None:
    runs = [
        make_run("flac", table(1.0, 0.8), seed=0),
        make_run("flac", table(1.0, 0.6), seed=1),
        make_run("vanilla", table(1.0, 0.1), run_id="weak"),
        make_run("vanilla", table(1.0, 0.7), run_id="strong"),
    ]
    first, *rest = said(runs)
    assert "vanilla (strong)" in first
    assert "70.0 % where it does not (mean of 2 seeds). This is no clear help" in rest[0]


def test_small_groups_make_a_measure_coarse() -> None:
    whole = table(1.0, 0.5)
    assert effective_size(whole) == pytest.approx(len(whole))
    keep = (whole.y != 0) | (whole.index % PER_GROUP < 2)  # four groups of 2, twelve of 20
    columns = {name: getattr(whole, name)[keep] for name in ("index", "y", "prediction", "score", "features")}
    small = replace(
        whole, **columns, bias={"hue": whole.bias["hue"][keep]}, aligned={"hue": whole.aligned["hue"][keep]}
    )
    assert effective_size(small) == pytest.approx(16**2 / (4 / 2 + 12 / 20))


def test_margin_is_a_point_at_least() -> None:
    assert margin(0.5, 0.5, 1e9) == 0.01
    assert margin(0.5, 0.5, 200) == pytest.approx(2 * (0.5 / 200) ** 0.5)
