"""Each word, from numbers made by hand."""

from dataclasses import replace

import pytest

from audit.made import made_audit, measured
from fairflac.audit.verdict import FOLLOWS, HINT, LEANS, verdict
from fairflac.report.verdict import VISIBLE_GAP


def test_a_cue_that_is_followed() -> None:
    said = verdict(made_audit(cue=FOLLOWS + 0.01))
    assert said.word == "leans on a shortcut" and said.on == ["border"]
    assert "follows the border" in said.reasons[0] and "yours to say" in said.reasons[-1]
    assert verdict(made_audit(cue=FOLLOWS - 0.01)).word == "no evidence"


def test_a_cue_that_is_followed_a_little_is_a_hint() -> None:
    assert any("border a little" in reason for reason in verdict(made_audit(cue=HINT + 0.01)).reasons)
    assert not any("a little" in reason for reason in verdict(made_audit(cue=HINT - 0.01)).reasons)


def test_a_guess_that_is_followed_counts_where_there_is_another_class_to_name() -> None:
    said = verdict(made_audit(lean=LEANS + 0.01, classes=3))
    assert said.word == "leans on a shortcut" and "no name" in said.on[0] and "bias model" in said.reasons[0]
    two = verdict(made_audit(lean=LEANS + 0.01, classes=2))
    assert two.word == "no evidence" and any("may be hard" in reason for reason in two.reasons)


def test_a_bias_model_that_knows_nothing() -> None:
    said = verdict(made_audit(lean=LEANS + 0.01, classes=3, better_than_chance=False))
    assert said.word == "cannot tell" and "good sign" in said.reasons[0]


@pytest.mark.parametrize("few", [0, 29])
def test_too_few_that_contradict(few: int) -> None:
    said = verdict(made_audit(against=few))
    assert said.word == "cannot tell" and f"of {few} images only" in said.reasons[0]
    assert verdict(made_audit(against=30)).word == "no evidence"


def test_nothing_to_exchange() -> None:
    said = verdict(replace(made_audit(), followed=[]))
    assert said.word == "cannot tell" and "one class for all" in said.reasons[0]


def test_a_gap_between_groups() -> None:
    found = made_audit(gaps={"age": measured(VISIBLE_GAP + 0.01), "camera": measured(VISIBLE_GAP - 0.01)})
    said = verdict(found)
    assert said.word == "leans on a shortcut" and said.on == ["age"] and "age does not go" in said.reasons[0]


def test_a_name_is_said_once() -> None:
    assert verdict(made_audit(cue=0.9, gaps={"border": measured(0.5)})).on == ["border"]


def test_no_evidence_is_no_proof() -> None:
    assert "no proof" in verdict(made_audit()).reasons[-1]
