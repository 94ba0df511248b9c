"""What discovery finds in audited images, and whether a model of which one knows what it reads follows it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auditing.toy_classifiers import bars, grounds, reads_the_bar, reads_the_ground, rule
from fairflac.auditing import shortcuts
from fairflac.auditing.images import AuditedImages
from fairflac.auditing.pipeline import Audit, audit, found_name, verdict
from fairflac.auditing.shortcuts import FoundShortcuts, offered_shortcuts
from fairflac.data import imagenet_weights
from fairflac.data.base import BiasedDataset
from fairflac.discovery import guesses as guessing
from fairflac.inference.model import Classifier, predictions
from fairflac.metrics.evidence import Strength

SHARED = Path(__file__).parents[3] / "shared" / "data" / "weights" / "resnet18-imagenet.safetensors"

FOLLOWS, IGNORES = rule(reads_the_ground, 36), rule(reads_the_bar, 36)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the bias model is any good is tested elsewhere."""
    monkeypatch.setattr(guessing, "STEPS", 3)
    monkeypatch.setattr(guessing, "EPOCHS", 1)


def found_in(model: Classifier, data: BiasedDataset, training: BiasedDataset | None, root: Path) -> FoundShortcuts:
    offered = offered_shortcuts(AuditedImages(data, training, ()), root, silent=True)
    return offered.beside(predictions(model, data, silent=True), len(data.task.classes))


def audited(model: Classifier, data: BiasedDataset, training: BiasedDataset | None, root: Path) -> Audit:
    return audit(model, AuditedImages(data, training, ()), root, silent=True)


def test_a_model_that_follows_what_is_found(tmp_path: Path) -> None:
    data = bars(100, 0.85)
    found = audited(FOLLOWS, data, None, tmp_path)
    one = found.found.shortcuts[0]
    assert found.found.searched == "200 audited images" and found.found.features == ("16 x 16 pixels",)
    assert (one.suggested == grounds(data)).all() and one.guessed.strength is Strength.LEAN
    assert one.guessed.disagree is not None and one.guessed.disagree.value == 0
    said = verdict(found)
    assert said.word == "leans on a shortcut" and said.on[0] == found_name(0) and "colour" in said.on
    assert "It follows shortcut 1" in said.reasons[0]


def test_a_model_that_does_not_follow_it(tmp_path: Path) -> None:
    found = audited(IGNORES, bars(100, 0.8), None, tmp_path)
    assert found.accuracy.value == 1 and {one.guessed.strength for one in found.found.shortcuts} == {Strength.NONE}
    said = verdict(found)
    assert said.word == "no evidence" and any("the model does not clearly follow it" in one for one in said.reasons)


def test_what_the_training_images_offer_is_measured_on_images_that_do_not(tmp_path: Path) -> None:
    """As on a test split where every group is as large: there is nothing to find in it."""
    even, training = bars(100, 0.5, seed=1), bars(100, 0.85)
    assert found_in(FOLLOWS, even, None, tmp_path).shortcuts == ()
    found = found_in(FOLLOWS, even, training, tmp_path)
    one = found.shortcuts[0]
    assert found.searched == "200 training images" and (one.suggested == grounds(even)).all()
    assert one.guessed.strength is Strength.LEAN and one.guessed.against == 100
    assert found_in(IGNORES, even, training, tmp_path).shortcuts[0].guessed.strength is Strength.NONE


def test_no_shortcut_is_plainly_none(tmp_path: Path) -> None:
    found = audited(IGNORES, bars(60, 0.5), None, tmp_path)
    assert found.found.shortcuts == ()
    assert any("found no shortcut that it believes in" in one for one in verdict(found).reasons)


def test_few_images_of_a_class_are_audited_without_it(tmp_path: Path) -> None:
    found = audited(FOLLOWS, bars(60, 0.85, fewer=9), None, tmp_path)
    assert found.found.shortcuts == () and "colour" in verdict(found).on
    assert "needs 10 images of each class, and 'standing' has 9 among the 69" in found.found.left_out
    assert "'standing' has 0 among the 60" in found_in(FOLLOWS, bars(60, 0.85, fewer=0), None, tmp_path).left_out


def test_of_many_images_some_are_searched_and_all_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortcuts, "MOST", 150)
    data = bars(100, 0.85)
    found = found_in(FOLLOWS, data, None, tmp_path)
    one = found.shortcuts[0]
    assert found.searched == "150 audited images" and one.counts.sum() == 150
    assert len(one.value) == 200 and (one.suggested == grounds(data)).all()


def test_what_the_model_does_not_see_is_no_shortcut_for_it(tmp_path: Path) -> None:
    data = bars(60, 0.5)
    framed = np.pad(data.images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    framed[data.y == 1, :4] = 255  # cut off before the network
    assert found_in(FOLLOWS, replace(data, images=framed), None, tmp_path).shortcuts == ()


def test_features_are_kept(tmp_path: Path) -> None:
    found_in(FOLLOWS, bars(60, 0.5, seed=1), bars(60, 0.5), tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("features-*.npy")}
    assert len(kept) == 2
    found_in(FOLLOWS, bars(60, 0.5, seed=1), bars(60, 0.5), tmp_path)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").glob("features-*.npy")} == kept


@pytest.mark.skipif(not SHARED.exists(), reason="real weights are not at hand")
def test_with_the_imagenet_network(tmp_path: Path) -> None:
    imagenet_weights.get(tmp_path, SHARED, lambda line: None)
    data = bars(60, 0.85)
    found = found_in(FOLLOWS, data, None, tmp_path)
    assert found.features == ("ImageNet ResNet-18", "16 x 16 pixels")
    assert (
        found.shortcuts[0].guessed.strength is Strength.LEAN and (found.shortcuts[0].suggested == grounds(data)).all()
    )
