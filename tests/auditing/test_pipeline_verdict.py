"""Each word, from numbers made by hand."""

from dataclasses import replace

import pytest

from auditing.hand_made_audits import made_audit, measured
from fairflac.auditing.page import as_text
from fairflac.auditing.pipeline import UNNAMED, verdict
from fairflac.metrics.evidence import BOUNDS

CUE, GUESS, ATTRIBUTE = BOUNDS["cue"], BOUNDS["guess"], BOUNDS["attribute"]


def test_a_cue_that_is_followed() -> None:
    said = verdict(made_audit(cue=CUE.lean + 0.01))
    assert said.word == "leans on a shortcut" and said.on == ["border"]
    assert "follows the border (" in said.reasons[0] and "You decide" in said.reasons[-1]


def test_a_cue_that_is_followed_a_little_is_a_sign() -> None:
    said = verdict(made_audit(cue=CUE.lean - 0.01))
    assert said.word == "signs of a shortcut" and said.on == ["border"]
    assert "border somewhat" in said.reasons[0] and "not proof" in said.reasons[-1]
    assert verdict(made_audit(cue=CUE.sign + 0.01)).word == "signs of a shortcut"
    assert verdict(made_audit(cue=CUE.sign - 0.01)).word == "no evidence"


def test_a_guess_that_is_followed_counts_where_there_is_another_class_to_name() -> None:
    said = verdict(made_audit(lean=GUESS.lean + 0.01, classes=3))
    assert said.word == "leans on a shortcut" and said.on == [UNNAMED] and "bias model" in said.reasons[0]
    two = verdict(made_audit(lean=GUESS.lean + 0.01, classes=2))
    assert two.word == "signs of a shortcut" and two.on == [UNNAMED]


def test_far_less_right_where_the_guess_is_wrong_is_a_sign() -> None:
    said = verdict(made_audit(disagree=0.13))
    assert said.word == "signs of a shortcut" and "may be hard, or lack a shortcut" in said.reasons[0]
    assert as_text(made_audit(disagree=0.13)).startswith(f"signs of a shortcut: {UNNAMED}\n")


def test_a_bias_model_that_knows_nothing() -> None:
    said = verdict(made_audit(lean=GUESS.lean + 0.01, classes=3, better_than_chance=False))
    assert said.word == "cannot tell" and "no better than chance" in said.reasons[0]


@pytest.mark.parametrize("few", [0, 29])
def test_too_few_that_contradict(few: int) -> None:
    said = verdict(made_audit(against=few))
    assert said.word == "cannot tell" and f"of only {few} images" in said.reasons[0]
    assert verdict(made_audit(against=30)).word == "no evidence"


def test_nothing_to_exchange() -> None:
    said = verdict(replace(made_audit(), followed=[]))
    assert said.word == "cannot tell" and "one class for all" in said.reasons[0]


def test_a_gap_between_groups() -> None:
    found = made_audit(gaps={"age": measured(ATTRIBUTE.lean + 0.01), "camera": measured(ATTRIBUTE.lean - 0.01)})
    said = verdict(found)
    assert verdict(made_audit(gaps={"camera": measured(ATTRIBUTE.lean - 0.01)})).on == ["camera"]
    assert said.word == "leans on a shortcut" and said.on == ["age"] and "age does not go" in said.reasons[0]


def test_a_name_is_said_once() -> None:
    assert verdict(made_audit(cue=0.9, gaps={"border": measured(0.5)})).on == ["border"]


def test_no_evidence_is_no_proof() -> None:
    assert "no proof" in verdict(made_audit()).reasons[-1]
