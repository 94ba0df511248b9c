"""Several models, asked about the same images and compared image by image."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auditing.hand_made_audits import made_audit, made_shortcut, measured
from auditing.toy_classifiers import bars, reads_the_bar, reads_the_ground, rule
from fairflac.auditing import several
from fairflac.auditing.answer import answer, contrast
from fairflac.auditing.images import AuditedImages, ImageSelection
from fairflac.auditing.several import SideBySide, audit_several, model_names
from fairflac.auditing.text import several_json, several_text
from fairflac.discovery import guesses as guessing
from fairflac.errors import UserError
from fairflac.inference.model import Classifier
from fairflac.metrics.comparison import compare

CLASSES = ("lying", "standing")
GROUND, BAR = (rule(reads, 36, CLASSES) for reads in (reads_the_ground, reads_the_bar))


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guessing, "STEPS", 3)
    monkeypatch.setattr(guessing, "EPOCHS", 1)


def turned(model: Classifier) -> Classifier:
    """The same answers, its outputs the other way round."""
    logits = model.logits
    return replace(model, classes=CLASSES[::-1], logits=lambda pixels: logits(pixels)[:, ::-1])


def test_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second was asked about fewer images, and numbers its classes the other way: what both saw is compared."""
    data = bars(100, 0.8)
    data = replace(data, task=replace(data.task, classes=CLASSES))
    fewer = data.take(np.arange(10, len(data)))
    studies = []
    original = several.study
    monkeypatch.setattr(several, "study", lambda *given, **more: studies.append(1) or original(*given, **more))

    def select(model: Classifier, selection: ImageSelection) -> AuditedImages:
        if model.classes == CLASSES:
            return AuditedImages(data, None, ("all",))
        return AuditedImages(replace(fewer, y=1 - fewer.y, task=replace(data.task, classes=CLASSES[::-1])), None, ())

    monkeypatch.setattr(several, "select_images", select)
    found = audit_several([GROUND, turned(BAR)], ImageSelection("bars", tmp_path), names=["old", "new"], silent=True)
    assert found.same_images and list(found.audits) == ["old", "new"] and studies == [1]  # images are searched once
    old, new = (one.table for one in found.audits.values())
    assert len(old) == len(new) == 190 and new.prediction.tolist() == new.y.tolist() == fewer.y.tolist()
    first, *others = found.differences("new")
    assert first.difference == compare(old, new)["accuracy"] and first.difference.clear
    assert {one.attribute for one in others} == {"shortcut 1"}
    (against,) = [one.difference for one in others if one.key == "conflicting"]
    assert (against.first, against.second) == (0, 1)
    said = answer(found)
    assert said[0] == "old leans on shortcut 1 (pictures below) and the colour; new: no evidence of a shortcut."
    assert "where shortcut 1 contradicts the class, old is right on 0 %, new on 100 %" in said[1]
    assert said[2].startswith("Take new: it is right 50.0 points more often than old on all groups")
    assert "new against old" in several_text(found)
    listed = several_json(found)
    assert listed["models"]["old"]["verdict"] == "leans on a shortcut"
    assert listed["against_first"]["new"][0]["p"] == first.difference.p


def test_images_that_differ_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    halves = {"ground": bars(40, 0.8, seed=1), "bar": bars(40, 0.8, seed=2)}
    halves["bar"] = replace(halves["bar"], names=np.array([f"other {name}" for name in halves["bar"].names]))
    models = [replace(GROUND, source="ground", classes=None), replace(BAR, source="bar", classes=None)]
    monkeypatch.setattr(several, "select_images", lambda model, _: AuditedImages(halves[model.source], None, ()))
    found = audit_several(models, ImageSelection("bars", tmp_path), silent=True)
    assert not found.same_images and found.differences("bar") == [] and "different images" in answer(found)[-1]
    assert "different images" in several_text(found)


def test_what_models_are_called() -> None:
    def named(*sources: str) -> list[str]:
        return model_names([replace(GROUND, source=source) for source in sources])

    assert named("a/old.onnx", "b/new.pt") == ["old", "new"]
    assert named("a/model.onnx", "b/model.onnx") == ["a/model.onnx", "b/model.onnx"]
    assert named("model.pt", "model.onnx") == ["model.pt", "model.onnx"]
    assert named("m.pt", "m.pt") == ["m.pt (1)", "m.pt (2)"]
    with pytest.raises(UserError, match="a name of its own"):
        model_names([GROUND, BAR], ["same", "same"])


def test_the_picture_is_of_what_speaks_most() -> None:
    def kind(**options: object) -> str:
        return contrast(SideBySide({"one": made_audit(**options)}, same_images=True)).kind  # type: ignore[arg-type]

    assert kind(attribute=True, gaps={"hue": measured(0.5)}, cue=0.8) == "attribute"
    assert kind(attribute=True, gaps={"hue": measured(-0.1)}, cue=0.8) == "cue"
    assert kind(found=(made_shortcut(0.5),), cue=0.8) == "found"
    assert kind(lean=0.9) == "guess"
    assert kind() == "cue"


def test_less_is_said_where_ranges_lie_apart_and_what_is_traded() -> None:
    before = made_audit(attribute=True, gaps={"hue": measured(0.9)})
    table = before.table
    aligned = table.aligned["hue"]
    wrong = (table.y + 1) % 3
    old = np.where(aligned, table.y, wrong)
    new = np.where(np.arange(60) % 4 < 2, table.y, wrong)
    audits = {
        "old": replace(before, table=replace(table, prediction=old)),
        "new": replace(before, table=replace(table, prediction=new), gaps={"hue": measured(0.2)}),
    }
    said = " ".join(answer(SideBySide(audits, same_images=True)))
    assert said.startswith("old leans on the hue; new still leans on the hue, but less.")
    assert (
        "no clear difference" in said
        and "In parts there is, of new against old: -" in said
        and "where the hue contradicts" in said
    )


def test_the_better_model_may_be_worse_at_a_class() -> None:
    before = made_audit(cue=0.8)
    rows, table = np.arange(60), before.table
    old = np.where(table.y == 0, 0, (table.y + 1) % 3)  # right on the first class alone
    new = np.where(table.y == 0, (rows % 6 == 0).astype(int), table.y)
    audits = {name: replace(before, table=replace(table, prediction=p)) for name, p in (("old", old), ("new", new))}
    said = " ".join(answer(SideBySide(audits, same_images=True)))
    assert "Take new" in said and "worse at some classes, in points: “a” -50.0" in said
    turned_round = dict(reversed(audits.items()))
    assert "Take new: it is right" in " ".join(answer(SideBySide(turned_round, same_images=True)))
    same = {"old": audits["old"], "copy": audits["old"]}
    assert "no clear difference (+0.0 points on all images)" in " ".join(answer(SideBySide(same, same_images=True)))
