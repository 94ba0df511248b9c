"""The page's first words: each thing they can say, said when the numbers of the page say so."""

import re
from dataclasses import replace

import numpy as np
import pytest

from fairflac.metrics import measure
from fairflac.metrics.evidence import effective_size
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.naming import Names
from fairflac.reporting.results import mean_of_seeds, models, on_the_same_images, result, rows
from fairflac.reporting.verdict import ReportVerdict, guessed_models, guessed_verdict, verdict
from fairflac.runs.directory import Run
from reporting.hand_made import CLASSES, MakeRun, table

NAMES = Names(["ant", "bee", "cow", "dog"], {"hue": ["red", "green", "blue", "grey"]})


def judged(runs: list[Run]) -> ReportVerdict | None:
    compared = models(runs)
    results = [result(row, run.predictions) for row, run in zip(rows(runs), runs, strict=True)]
    numbers = {model.name: mean_of_seeds([one for one in results if one.row in model.rows]) for model in compared}
    tables = on_the_same_images({model.name: model.run.predictions for model in compared})
    return verdict(compared, numbers, tables, NAMES, "hue", effective_size(runs[0].predictions))


def said(runs: list[Run]) -> ReportVerdict:
    found = judged(runs)
    assert found is not None
    return found


def test_help(make_run: MakeRun) -> None:
    found = said([make_run("vanilla", table(1.0, 0.2)), make_run("flac", table(0.95, 0.75))])
    assert found.answer == "Yes: the ordinary model (vanilla) reads the hue."
    assert found.effect == [
        "Training against it helps: where the hue misleads, 20 → 75 % with flac.",
        "flac is not free of it.",
    ]
    assert found.advice.startswith("Use flac, not the ordinary model")
    assert found.notes == {"vanilla": "reads the hue", "flac": "better than vanilla; still leans on the hue"}


def test_help_without_a_rest(make_run: MakeRun) -> None:
    found = said([make_run("vanilla", table(1.0, 0.05)), make_run("flac", table(1.0, 1.0))])
    assert found.effect == ["Training against it helps: where the hue misleads, 5 → 100 % with flac."]
    assert found.notes["flac"] == "better than vanilla; is not clearly worse where the hue misleads"


def test_several_that_help_are_not_ranked_by_test_images(make_run: MakeRun) -> None:
    runs = [make_run("vanilla", table(1.0, 0.2)), make_run("flac", table(1, 0.8)), make_run("flac-b", table(1, 0.7))]
    found = said(runs)
    assert "20 → 80 % with flac and 20 → 70 % with flac-b." in found.effect[0]
    assert found.effect[1] == "flac and flac-b are not free of it." and "Use flac or flac-b" in found.advice


def test_of_many_models_a_few_are_named(make_run: MakeRun) -> None:
    methods = ("a", "b", "c", "d", "e", "f")
    found = said([make_run("vanilla", table(1.0, 0.2)), *(make_run(name, table(1.0, 0.8)) for name in methods)])
    assert found.effect[0].endswith("with a, 20 → 80 % with b, 20 → 80 % with c and 3 others.")
    assert found.effect[1] == "a, b, c and 3 others are not free of it." and "Use a model that helps" in found.advice


def test_where_it_still_fails_and_what_it_lost(make_run: MakeRun) -> None:
    plain, better = table(1.0, 0.2), table(1.0, 1.0)
    weak = replace(better, prediction=np.where((better.y == 2) & (better.index % 2 == 0), 0, better.prediction))
    found = said([make_run("vanilla", plain), make_run("flac", weak)])
    assert found.effect[1] == "It still fails most on “cow” (50 % right with flac)."
    found = said([make_run("vanilla", plain), make_run("flac", weak), make_run("balanced", better)])
    assert found.effect[1] == "flac still fails most on “cow” (50 % right with flac)."  # balanced does not
    lost = replace(better, prediction=np.where(better.y == 2, 0, better.prediction))
    found = said([make_run("vanilla", plain), make_run("flac", lost)])
    assert found.effect[-1] == "flac is clearly worse than vanilla on “cow”."


@pytest.mark.parametrize(
    ("aligned", "conflicting", "words"),
    [
        (1.0, 0.5, "No clear help: flac is not clearly better than vanilla."),
        # 3.8 points on 320 images can be chance
        (1.0, 0.55, "No clear help: flac is not clearly better than vanilla."),
        (0.9, 0.2, "flac is worse than vanilla."),
    ],
)
def test_no_help(make_run: MakeRun, aligned: float, conflicting: float, words: str) -> None:
    found = said([make_run("vanilla", table(1.0, 0.5)), make_run("flac", table(aligned, conflicting))])
    assert found.effect == [words] and found.answer.startswith("Yes") and "Do not rely" in found.advice


def test_a_gain_elsewhere_is_no_help_against_the_shortcut(make_run: MakeRun) -> None:
    found = said([make_run("vanilla", table(0.1, 0.5)), make_run("flac", table(1.0, 0.5))])
    assert found.effect == ["No help against it: flac gains, but not where the hue misleads."]
    assert found.notes["flac"] == "gains, but not against the shortcut; leans on the hue"


@pytest.mark.parametrize(
    ("conflicting", "answer", "advice"),
    [
        (0.1, "Yes: the ordinary model (vanilla) reads the hue.", "Train against it"),
        (0.7, "Yes: the ordinary model (vanilla) leans on the hue.", "Train against it"),
        (0.9, "Perhaps: the ordinary model (vanilla) shows signs of leaning on the hue.", "Train against it"),
        (1.0, "No evidence: the ordinary model (vanilla) is not clearly worse where the hue misleads.", "Nothing here"),
    ],
)
def test_lean_of_a_model_alone(make_run: MakeRun, conflicting: float, answer: str, advice: str) -> None:
    found = said([make_run("vanilla", table(1.0, conflicting))])
    assert found.answer == answer and found.advice.startswith(advice) and not found.effect


def test_no_vanilla(make_run: MakeRun) -> None:
    found = said([make_run("flac", table(1.0, 0.7)), make_run("flac-b", table(1.0, 1.0))])
    assert found.answer == "Yes: flac leans on the hue; flac-b is not clearly worse where the hue misleads."
    assert "no vanilla model" in found.effect[0] and len(found.effect) == 1 and "vanilla" in found.advice


@pytest.mark.parametrize("before", [0.1, 0.9])
@pytest.mark.parametrize("after", [0.3, 0.6, 0.95])
def test_no_word_contradicts_the_numbers_of_the_table(make_run: MakeRun, before: float, after: float) -> None:
    tables = {"vanilla": table(0.95, before), "flac": table(0.9, after)}
    found = said([make_run(name, one) for name, one in tables.items()])
    first, second = (measure(one) for one in tables.values())
    helps = any(sentence.startswith("Training against it helps") for sentence in found.effect)
    if helps:
        shown = re.findall(r"(\d+) → (\d+) %", found.effect[0])
        assert shown == [(f"{100 * first['conflicting'].value:.0f}", f"{100 * second['conflicting'].value:.0f}")]
        assert second["conflicting"].value > first["conflicting"].value
        assert second["unbiased"].value > first["unbiased"].value
    if second["unbiased"].high < first["unbiased"].low:
        assert "flac is worse than vanilla." in found.effect
    assert helps == (second["unbiased"].low > first["unbiased"].high)  # here no pair of ranges overlaps by a little
    assert found.answer.startswith("Yes") == (first["conflicting"].high < first["aligned"].low - 0.05)


def test_no_attribute(make_run: MakeRun) -> None:
    assert judged([make_run("vanilla", table(0.5, 0.5, attributes=()))]) is None


def test_seeds_are_averaged_and_the_best_vanilla_is_the_measure(make_run: MakeRun) -> None:
    runs = [
        make_run("flac", table(1.0, 0.8), seed=0),
        make_run("flac", table(1.0, 0.6), seed=1),
        make_run("vanilla", table(1.0, 0.1), run_id="weak"),
        make_run("vanilla", table(1.0, 0.7), run_id="strong"),
    ]
    found = said(runs)
    assert "vanilla (strong)" in found.answer
    assert "No clear help: flac is not clearly better than vanilla (strong)." in found.effect  # 70 %, in the mean


def guessing(aligned: float, conflicting: float) -> Predictions:
    """Without labels, and with the hue as what was guessed."""
    known = table(aligned, conflicting)
    counts = 20 * np.eye(CLASSES, dtype=np.int64) + 1
    return replace(known.without_labels(), guess=known.bias["hue"], guess_counts=counts)


def test_guesses_stand_in_for_labels(make_run: MakeRun) -> None:
    runs = [make_run("vanilla", guessing(1.0, 0.2)), make_run("flac-b", guessing(0.95, 0.75))]
    tables = {run.config["method"]: run.predictions for run in runs}
    found = guessed_models(models(runs), tables)
    assert found is not None and found.base == "vanilla"
    said = guessed_verdict(found, tables, NAMES)
    assert said.answer == "Yes: the ordinary model (vanilla) leans on a shortcut."
    assert "all guessed groups of each class counting alike, 40 → 80 % with flac-b." in said.effect[0]
    assert said.notes["flac-b"].startswith("better than vanilla")


def test_values_have_the_names_of_the_model_that_was_trained_with_them(make_run: MakeRun) -> None:
    runs = [
        make_run("vanilla", replace(guessing(1.0, 0.2), guess=None, guess_counts=None)),
        make_run("flac", guessing(1.0, 0.8), results={"guess_values": ["1+1", "1+2", "2+1", "2+2"]}),
    ]
    found = guessed_models(models(runs), {run.config["method"]: run.predictions for run in runs})
    assert found is not None and found.names.of_guess(1) == "1+2"


def test_what_is_lost_over_all_images_is_said_whatever_the_guesses_say(make_run: MakeRun) -> None:
    """Groups of one image each weigh as much as a whole class that is lost: no clear difference, and a great loss."""
    known = table(1.0, 0.2)
    rows = np.flatnonzero(known.aligned["hue"] | (known.index % 40 == 13))
    plain = guessing(1.0, 0.2).take(rows)
    better = np.where(plain.y < 2, plain.y, plain.prediction)
    lost = replace(plain, prediction=np.where(plain.y == 2, 0, better))
    runs = [make_run("vanilla", plain), make_run("flac-b", lost)]
    tables = {run.config["method"]: run.predictions for run in runs}
    found = guessed_models(models(runs), tables)
    assert found is not None
    said = guessed_verdict(found, tables, NAMES)
    assert said.answer.startswith("Unclear") and "Use" not in said.advice
    assert said.effect[0] == "No clear help: flac-b is not clearly better than vanilla."
    assert said.effect[-1].startswith("Over all test images flac-b is worse than vanilla: ")
    assert said.effect[-1].endswith("most clearly on “cow”.")


def test_guesses_without_a_gain_or_a_vanilla_model(make_run: MakeRun) -> None:
    runs = [make_run("vanilla", guessing(1.0, 1.0)), make_run("flac-b", guessing(1.0, 1.0))]
    tables = {run.config["method"]: run.predictions for run in runs}
    found = guessed_models(models(runs), tables)
    assert found is not None
    said = guessed_verdict(found, tables, NAMES)
    assert said.answer == "No evidence: the ordinary model (vanilla) does not clearly follow a shortcut."
    assert said.effect == ["No clear help: flac-b is not clearly better than vanilla."]
    alone = guessed_models(models(runs[1:]), {"flac-b": tables["flac-b"]})
    assert alone is not None and "no vanilla model" in guessed_verdict(alone, tables, NAMES).effect[0]
    assert guessed_models(models(runs), {name: one.without_labels().take(np.arange(5)) for name, one in tables.items()})
    bare = {name: replace(one, guess=None) for name, one in tables.items()}
    assert guessed_models(models(runs), bare) is None
