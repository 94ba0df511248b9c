"""Each word, from numbers made by hand."""

from dataclasses import replace

import pytest

from auditing.hand_made_audits import made_audit, made_shortcut, measured
from fairflac.auditing.pipeline import UNNAMED, discovery_sentences, found_name, verdict
from fairflac.auditing.shortcuts import FoundShortcuts
from fairflac.auditing.text import as_text
from fairflac.metrics.evidence import BOUNDS

CUE, GUESS, ATTRIBUTE, FOUND = (BOUNDS[kind] for kind in ("cue", "guess", "attribute", "found"))


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


@pytest.mark.parametrize("classes", [2, 3])
def test_a_found_shortcut_that_is_followed(classes: int) -> None:
    """Also of two classes: discovery believes in no mere hard images."""
    said = verdict(made_audit(found=(made_shortcut(FOUND.lean + 0.01, classes=classes),), classes=classes))
    assert said.word == "leans on a shortcut" and said.on == [found_name(0)]
    assert said.reasons[0].startswith("It follows shortcut 1 that discovery found (see its pictures): where")
    sign = verdict(made_audit(found=(made_shortcut(FOUND.lean - 0.01, classes=classes),), classes=classes))
    assert sign.word == "signs of a shortcut" and sign.on == [found_name(0)] and "somewhat" in sign.reasons[0]


def test_known_attributes_come_first_then_what_is_found_then_cues() -> None:
    found = (made_shortcut(FOUND.lean + 0.01),)
    said = verdict(made_audit(cue=0.8, gaps={"age": measured(0.5)}, found=found))
    assert said.on == ["age", found_name(0), "border"]
    assert [
        any(word in one for one in said.reasons[row : row + 1])
        for row, word in enumerate(["age", "shortcut 1", "border"])
    ]


def test_a_found_shortcut_that_is_not_followed_is_said() -> None:
    alone = verdict(made_audit(found=(made_shortcut(FOUND.sign - 0.01),)))
    assert alone.word == "no evidence" and alone.on == []
    assert any(
        "images offer shortcut 1" in one and "the model does not clearly follow it" in one for one in alone.reasons
    )
    both = verdict(made_audit(cue=0.8, found=(made_shortcut(0.0), made_shortcut(0.5))))
    assert both.on == [found_name(1), "border"]
    assert "does not clearly follow" in both.reasons[0] and "It follows shortcut 2" in both.reasons[1]


def test_too_few_that_contradict_what_is_found() -> None:
    said = verdict(made_audit(against=3, found=(made_shortcut(0.0, against=20),)))
    assert said.word == "cannot tell" and any("of 20 of the audited images, too few" in one for one in said.reasons)
    enough = verdict(made_audit(against=3, found=(made_shortcut(0.0, against=30),)))
    assert enough.word == "no evidence"  # these images do show a shortcut, and that it is not followed


def test_a_bias_model_says_nothing_twice() -> None:
    found = (made_shortcut(FOUND.lean + 0.01),)
    same = verdict(made_audit(lean=GUESS.lean + 0.01, unexplained=0.0, found=found))
    assert same.on == [found_name(0)] and not any("bias model" in one for one in same.reasons)
    more = verdict(made_audit(lean=GUESS.lean + 0.01, unexplained=GUESS.sign + 0.01, found=found))
    assert more.on == [found_name(0)] and "Images that contradict what discovery found do not count" in more.reasons[1]


def test_what_discovery_did_not_find_is_said_once() -> None:
    plain = "Discovery searched 60 audited images, seen as 8 x 8 pixels, and found no shortcut that it believes in."
    for audit in (made_audit(), made_audit(cue=0.8)):
        assert discovery_sentences(audit) == [plain] and as_text(audit).count(plain) == 1
    assert plain in verdict(made_audit()).reasons and plain not in verdict(made_audit(cue=0.8)).reasons
    left_out = replace(made_audit(), found=FoundShortcuts("60 images", (), (), left_out="Discovery was left out."))
    assert as_text(left_out).count("Discovery was left out.") == 1
