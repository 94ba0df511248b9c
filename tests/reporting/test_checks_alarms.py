"""What is said first: a drop from validation to test, and a model that is no better than one answer for all."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairflac.reporting.checks import alarm_lines, alarms, validated
from fairflac.reporting.page import render
from fairflac.system.tables import escape_markdown
from reporting.hand_made import CLASSES, MakeRun, table

NAMES = {"classes": ["ant", "bee", "cow", "dog"]}


def results(right: float, n: int = 400, **more: Any) -> dict[str, Any]:
    return {"validation": {"accuracy": right, "n": n}, "training_images": [10] * CLASSES, **NAMES, **more}


def test_a_drop_that_chance_does_not_explain(make_run: MakeRun) -> None:
    unlabelled = table(0.4, 0.4, attributes=())
    run = make_run("vanilla", unlabelled, results=results(0.8))
    (alarm,) = alarms(run)
    assert ("right on the validation images", "80.0 % (76.0–83.8, n = 400)") in alarm.numbers
    ((sentence, validation, test, lost),) = alarm_lines([alarm])
    assert sentence.startswith("The vanilla model is clearly worse on the test images than on the validation images.")
    assert "of another kind" in sentence and "fairflac audit" in sentence and not re.search(r"\d", sentence)
    assert (
        validation.endswith("n = 400)")
        and test.startswith("right on the test images: 40.0 %")
        and "40.0 points" in lost
    )
    first, second = alarm_lines([*alarms(run, "a"), *alarms(run, "b")])
    assert "another kind" not in first[0] and "another kind" in second[0]  # once is enough
    assert alarms(make_run("vanilla", unlabelled, results=results(0.45))) == []  # may be chance
    assert alarms(make_run("vanilla", unlabelled, results=results(0.8, n=5))) == []


def test_a_known_shortcut_that_explains_it_is_named(make_run: MakeRun) -> None:
    (alarm,) = alarms(make_run("vanilla", table(0.95, 0.3), results=results(0.9)))
    assert alarm.shortcut and alarm.says.endswith("because of the hue")
    assert [number[:6] for what, number in alarm.numbers if what.startswith("of ")] == ["95.0 %", "30.0 %"]
    assert not alarm.advice
    (other,) = alarms(make_run("vanilla", table(0.4, 0.3), results=results(0.9)))  # it is worse there as well
    assert not other.shortcut and "another kind" in other.advice


def test_said_first_on_the_page_and_of_vanilla_alone_where_the_shortcut_is_known(make_run: MakeRun) -> None:
    runs = [
        make_run("vanilla", table(0.95, 0.3), results=results(0.9)),
        make_run("flac", table(0.95, 0.4), results=results(0.9)),
    ]
    page = render(runs, foreword=["First words."])
    assert page.count('<details class="alarm">') == 1
    worse = "Clearly worse on the test images than on the validation images, because of the hue: vanilla"
    assert page.index("First words.") < page.index(worse) < page.index('class="bars"')
    assert render(runs[1:]).count('<details class="alarm">') == 1


def test_what_is_so_of_several_models_is_said_once_on_the_page(make_run: MakeRun) -> None:
    runs = [make_run(name, table(0.4, 0.4, attributes=()), results=results(0.8)) for name in ("vanilla", "flac")]
    page = render(runs)
    assert page.count('<details class="alarm">') == 1 and page.count("of another kind") == 1
    assert "than on the validation images: vanilla, flac</summary>" in page
    assert page.count("right on the validation images</dt>") == 2


def test_a_page_never_has_validation_and_test_numbers_in_one_paragraph(make_run: MakeRun) -> None:
    page = render([make_run("vanilla", table(0.4, 0.4, attributes=()), results=results(0.8))])
    parts = re.findall(r"<(p|dd|summary|li|td|figcaption)\b[^>]*>(.*?)</\1>", page, flags=re.DOTALL)
    assert any("80.0" in text for _, text in parts) and any("40.0" in text for _, text in parts)
    assert not any("80.0" in text and "40.0" in text for _, text in parts)
    assert "right on the validation images</dt><dd>80.0" in page and "of another kind" in page


def test_validation_is_that_of_the_epoch_that_was_kept(make_run: MakeRun) -> None:
    history = [
        {"epoch": epoch, "validation": {"accuracy": share, "n": 100}} for epoch, share in enumerate((0.5, 0.9, 0.7))
    ]

    def known(**stored: Any) -> float | None:
        found = validated(make_run("vanilla", table(0.5, 0.5), history=history, results=stored))
        return None if found is None else found.value

    assert known() == 0.7  # an older run, which kept its last epoch
    assert known(selection="accuracy") == 0.9
    assert known(selection="worst-class") is None  # which epoch that was is not known
    assert known(validation={"accuracy": 0.6, "n": 100}) == 0.6 and known(validation=None) is None
    assert validated(make_run("vanilla", table(0.5, 0.5), run_id="without")) is None


def test_no_better_than_one_answer_for_all(make_run: MakeRun) -> None:
    guessing = table(0.25, 0.25, attributes=())
    stored = {"training_images": [5, 60, 5, 5], **NAMES}
    (alarm,) = alarms(make_run("vanilla", guessing, results=stored), "vanilla (a1)")
    ((sentence, right, usual),) = alarm_lines([alarm])
    assert sentence.startswith("The vanilla (a1) model is no better than always saying “bee”")
    assert "the model: 25.0 %" in right and usual.startswith("that answer: 25.0 %")
    assert alarms(make_run("vanilla", table(0.5, 0.5, attributes=()), results=stored)) == []
    assert alarms(make_run("vanilla", guessing)) == []  # an older run
    reads = table(1.0, 0.0)  # as right in all, and it has learnt the shortcut, which is said elsewhere
    assert alarms(make_run("vanilla", reads, results=stored)) == []
    always_bee = reads.take(np.flatnonzero(reads.bias["hue"] == 1))  # the hue goes with the class for bees alone
    assert set(always_bee.prediction.tolist()) == {1}
    assert "no better than always saying" in alarms(make_run("vanilla", always_bee, results=stored))[0].says
    assert alarms(make_run("vanilla", guessing, results=stored, target="hue")) == []  # a bias model is no result


def test_classes_are_on_the_page(make_run: MakeRun) -> None:
    known = table(0.9, 0.5)
    stored = {"training_images": [5, 60, 5, 5], **NAMES}
    page = render([make_run("vanilla", known, results=stored), make_run("flac", replace(known, prediction=known.y))])
    assert "Always saying “bee”, the most frequent class in training, is right on 25.0" in page.replace("\xa0", " ")
    assert page.count("(confusion matrix)</summary>") == 2 and "“cow”" in page
    assert '<td data-value="48" class="right">48</td>' in page  # right on 18 and three times 10 of a class


def test_classes_that_lost_are_named_on_the_page(make_run: MakeRun) -> None:
    known = table(0.9, 0.9)
    worse = replace(known, prediction=np.where(known.y == 2, 0, known.prediction))
    page = render([make_run("vanilla", known, results=NAMES), make_run("flac", worse, results=NAMES)])
    assert "Classes that flac names clearly worse than vanilla: “cow” from 90.0" in page


@pytest.mark.parametrize(
    "name", ["a|b", "`rm`", "*bold*", "_it_", "[x](y)", "<b>", "two\nlines", "&lt;", "$x$", "~~a~~"]
)
def test_a_name_means_nothing_to_markdown(name: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    page = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).enable("table")
    (paragraph, inline, _) = page.parse(escape_markdown(f"say {name} now"))
    assert paragraph.type == "paragraph_open"
    assert {child.type for child in inline.children} <= {"text", "text_special"}
    assert "".join(child.content for child in inline.children) == " ".join(f"say {name} now".split())
    rows = page.render(f"| a | b |\n|---|---|\n| {escape_markdown(name)} | c |")
    assert rows.count("<td>") == 2
