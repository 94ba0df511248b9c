"""A planted shortcut is found, and a clean control is not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lightning_fabric import Fabric

from auditing.toy_classifiers import ALWAYS, NEVER, rule, toy_images, toy_model
from fairflac.auditing.images import AuditedImages
from fairflac.auditing.pipeline import audit, found_name, verdict
from fairflac.discovery import guesses as guessing
from fairflac.errors import UserError
from toy import TASK

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_planted_shortcut_is_found(seed: int, tmp_path: Path, fabric: Fabric) -> None:
    found = audit(toy_model(ALWAYS, seed, tmp_path, fabric), toy_images(ALWAYS, seed), tmp_path, silent=True)
    said = verdict(found)
    assert said.word == "leans on a shortcut" and "brightness" in said.on and said.on[0] == found_name(0)
    assert found.accuracy.value > 0.9  # which looks like a good model
    assert found.guessed.agree and found.guessed.disagree and found.guessed.lean
    assert found.guessed.agree.value > 0.9 > 0.5 > found.guessed.disagree.value
    assert found.guessed.agree.n + found.guessed.disagree.n == 400
    # What the bias model guesses is what discovery found: it is said once.
    assert found.guessed.strength and not found.unexplained.strength
    assert not any("bias model" in reason for reason in said.reasons)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clean_control_is_not(seed: int, tmp_path: Path, fabric: Fabric) -> None:
    found = audit(toy_model(NEVER, seed, tmp_path, fabric), toy_images(NEVER, seed), tmp_path, silent=True)
    assert verdict(found).word in ("no evidence", "cannot tell") and verdict(found).on == []
    assert found.accuracy.value > 0.9 and max(one.difference.low for one in found.followed) < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.97, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_coloured_digits(seed: int, q: float, tmp_path: Path) -> None:
    """Audited on held-out digits that are as biased as the training, and with nothing else to train a bias model on."""
    from fairflac.auditing.images import ImageSelection, select_images
    from fairflac.config.run_config import resolve
    from fairflac.inference.open import open_model
    from fairflac.runs.directory import Workspace
    from fairflac.training.pipeline import train_config

    changes = {"q": q, "epochs": 8, "kernel_size": 5, "strides": [1, 2, 1, 1], "validation": 0.2}
    run = train_config(resolve("biased-digits", "vanilla", seed, changes), Workspace(tmp_path, tmp_path, silent=True))
    assert run is not None
    model = open_model(str(run.path))
    chosen = select_images(model, ImageSelection("biased-digits", tmp_path, split="validation"))
    bare = replace(chosen.data, bias={}, task=replace(chosen.data.task, attributes={}))
    said = verdict(audit(model, AuditedImages(bare, None, chosen.notes), tmp_path, silent=True))
    assert (said.word, said.on) == (("leans on a shortcut", ["colour"]) if q > 0.5 else ("no evidence", []))


def test_attributes_are_measured_where_they_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A rule that reads the brightness alone: right wherever it goes with the class, wrong elsewhere."""
    monkeypatch.setattr(guessing, "STEPS", 10)
    model = rule(lambda images: (images.mean((1, 2, 3)) > 128).astype(int), 6, TASK.classes)
    found = audit(model, toy_images(0.3, 0, labelled=True), tmp_path, silent=True)
    assert found.gaps["shade"].value == 1 and "shade" in verdict(found).on
    assert found.accuracy.value == pytest.approx((found.table.bias["shade"] == found.table.y).mean())


def test_a_handful_of_images_is_no_audit(tmp_path: Path) -> None:
    few = toy_images(0.5, 0)
    data = replace(few.data, images=few.data.images[:9], y=few.data.y[:9], names=few.data.names[:9])
    with pytest.raises(UserError, match="9 images are too few"):
        audit(rule(lambda images: np.zeros(len(images), int), 6), AuditedImages(data, None, ()), tmp_path)
