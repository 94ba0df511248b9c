"""The conclusions: each thing it can say, said when the numbers say so."""

import re
from typing import Any

import pytest

from fairflac.metrics import measure
from fairflac.metrics.evidence import effective_size
from fairflac.reporting.conclusions import Conclusions, conclusions
from fairflac.reporting.results import mean_of_seeds, models, result, rows
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, table


def judged(runs: list[Run], shortcut: str = "hue") -> Conclusions:
    compared = models(runs)
    results = [result(row, run.predictions) for row, run in zip(rows(runs), runs, strict=True)]
    numbers = {model.name: mean_of_seeds([one for one in results if one.row in model.rows]) for model in compared}
    return conclusions(compared, numbers, shortcut, effective_size(runs[0].predictions))


def said(runs: list[Run]) -> list[str]:
    answers = judged(runs)
    return [*answers.lean, *answers.gain]


def without_ranges(sentence: str) -> str:
    return re.sub(r" \([^()]*, n = [\d,]+\)", "", sentence)


def test_each_question_has_its_own_answer(make_run: MakeRun) -> None:
    runs = [make_run("flac", table(0.95, 0.75)), make_run("vanilla", table(1.0, 0.2))]
    answers = judged(runs)
    assert ["vanilla" in words and "reads the hue" in words for words in answers.lean] == [True]
    assert ["The flac model" in words and "This helps" in words for words in answers.gain] == [True]


def test_help(make_run: MakeRun, bias_model: dict[str, Any]) -> None:
    first, second = said(
        [make_run("vanilla", table(1.0, 0.2)), make_run("flac", table(0.95, 0.75), bias_model=bias_model)]
    )
    assert without_ranges(first) == (
        "The vanilla model is right on 100.0 % of the test images where the hue goes with the class and on 20.0 % "
        "where it does not: it reads the hue."
    )
    assert second.startswith(
        "The flac model, whose bias model learnt the hue from labels of other data (toy, q = 0.25), is right on 95.0 %"
    )
    second = without_ranges(second)
    assert "This helps: with every group counted alike it is right on 80.0 %, the vanilla model on 40.0 %" in second
    assert (
        "it is still better where that goes with the class, and in its worst group, one class with one hue, it is "
        "right on 75.0 %" in second
    )


def test_every_share_has_its_range_and_images(make_run: MakeRun) -> None:
    vanilla, flac = table(1.0, 0.2), table(0.95, 0.75)
    first, second = said([make_run("vanilla", vanilla), make_run("flac", flac)])
    for sentence, numbers, names in (
        (first, measure(vanilla), ("aligned", "conflicting")),
        (second, measure(flac), ("aligned", "conflicting", "unbiased", "worst_group")),
    ):
        for name in names:
            one = numbers[name]
            assert f"{100 * one.value:.1f} % ({100 * one.low:.1f}–{100 * one.high:.1f}, n = {one.n})" in sentence
    assert all(words.count("%") == words.count(", n = ") for words in (first, second))


def test_help_without_a_rest(make_run: MakeRun) -> None:
    second = said([make_run("vanilla", table(1.0, 0.05)), make_run("flac", table(1.0, 1.0))])[1]
    assert "This helps" in second and "makes no clear difference" in second and "still better" not in second


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
    ("conflicting", "words"),
    [(0.1, "it reads the"), (0.7, "it leans on the"), (1.0, "no evidence that it leans on the")],
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
    assert "cannot say whether a model leans" in only and "vanilla 50.0 %, flac 50.0 %" in without_ranges(only)


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
    both = without_ranges(rest[0])
    assert "70.0 % where it does not, in the mean of 2 seeds. This is no clear help" in both
    ends = [measure(run.predictions)["conflicting"] for run in runs[:2]]
    low, high = (50 * (ends[0][place] + ends[1][place]) for place in (1, 2))
    assert f"70.0 % ({low:.1f}–{high:.1f}, n = 240)" in rest[0]
