"""Schedules, selection, failure and precision of the training loop."""

import math
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from fairflac.errors import Stopped, UserError
from fairflac.metrics import accuracy
from fairflac.metrics.predictions import Predictions
from fairflac.system import checkpoint, hardware
from fairflac.training import engine
from fairflac.training.engine import Training
from fairflac.training.evaluate import collapse_advice, predictions
from fairflac.training.optimise import Optimisation
from fairflac.types import Batch, Minimise
from toy import toy_config, toy_data, toy_method, toy_training


@pytest.mark.parametrize(
    ("schedule", "epochs", "expected"),
    [
        ("multistep", 80, {0: 1, 25: 1, 26: 0.1, 52: 0.1, 53: 0.01, 79: 0.01}),
        ("multistep", 20, {5: 1, 6: 0.1, 12: 0.1, 13: 0.01}),
        ("cosine", 10, {0: 1, 5: 0.5, 9: (1 + math.cos(0.9 * math.pi)) / 2}),
        ("constant", 4, {0: 1, 3: 1}),
        ("multistep", 1, {0: 1}),
        ("multistep", 2, {0: 1, 1: 0.1}),
    ],
)
def test_schedules(schedule: str, epochs: int, expected: dict[int, float], fabric: Fabric) -> None:
    config = toy_config("vanilla", schedule=schedule, epochs=epochs, lr=1.0).train
    optimisation = Optimisation(toy_method("vanilla"), config, fabric)
    seen = []
    for _ in range(epochs):
        seen.append(optimisation.lr)
        for optimiser in optimisation.optimisers.values():
            optimiser.step()
        optimisation.end_epoch()
    for epoch, factor in expected.items():
        assert seen[epoch] == pytest.approx(factor), epoch


def test_clipping_bounds_the_gradient(any_fabric: Fabric) -> None:
    method = toy_method("vanilla")
    optimisation = Optimisation(method, toy_config("vanilla", clip_norm=0.5).train, any_fabric)
    optimisation(sum((1000 * p.square().sum() for p in method.parameters()), torch.zeros(())))
    norms = [p.grad.norm() for p in method.parameters() if p.grad is not None]
    assert torch.stack(norms).norm() == pytest.approx(0.5, rel=1e-3)


def test_a_loss_that_is_not_finite_keeps_the_checkpoint_before(any_fabric: Fabric, tmp_path: Path) -> None:
    training = toy_training("vanilla", tmp_path, any_fabric, epochs=2)
    end_epoch = training._end_epoch

    def poison_after_the_first() -> str | None:
        advice = end_epoch()
        with torch.no_grad():
            training.method.net.get_parameter("fc.weight").fill_(math.nan)
        return advice

    training._end_epoch = poison_after_the_first  # type: ignore[method-assign]
    with pytest.raises(UserError, match="loss became nan in epoch 2"):
        training.fit("vanilla", silent=True)
    kept = checkpoint.load(training.run.last)
    assert kept["state"]["epoch"] == 1 and all(value.isfinite().all() for value in kept["method"].values())


def test_selection_keeps_the_best_epoch_by_its_rule(any_fabric: Fabric, tmp_path: Path) -> None:
    training = toy_training("vanilla", tmp_path, any_fabric, epochs=6, lr=0.3, selection="accuracy")
    state = training.fit("vanilla", silent=True)
    scores = [entry["validation"]["accuracy"] for entry in state.history]
    assert state.best == max(scores)
    best = checkpoint.load(training.run.best)
    assert best["state"]["epoch"] == 1 + scores.index(max(scores))  # the first of equals
    training.method.load_state_dict(best["method"])
    assert accuracy(predictions(training.method, toy_data(), any_fabric)) == max(scores)


def test_predictions_are_in_index_order(any_fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    method, data = toy_method("vanilla"), toy_data(50)
    whole = predictions(method, data, any_fabric)
    monkeypatch.setattr("fairflac.training.evaluate.EVALUATION_BATCH", 7)
    parts = predictions(method, data, any_fabric)
    assert whole.index.tolist() == list(range(50))
    assert (whole.prediction == parts.prediction).all()
    assert whole.features == pytest.approx(parts.features, abs=1e-6)
    assert (whole.aligned["shade"] == (data.y == data.bias["shade"])).all()
    assert method.training  # as it was before


def test_answers_are_fp32_whatever_is_around_them() -> None:
    x, weight = torch.rand(2, 3), torch.rand(3, 4)
    convolution = torch.backends.cudnn.conv
    before = convolution.fp32_precision
    with torch.autocast("cpu", torch.bfloat16):
        assert (x @ weight).dtype == torch.bfloat16
        with hardware.full_precision(torch.device("cpu")):
            assert (x @ weight).dtype == torch.float32 and convolution.fp32_precision == "ieee"
    assert convolution.fp32_precision == before


def test_the_pairs_stay_in_fp32(any_fabric: Fabric, tmp_path: Path) -> None:
    training = toy_training("flac", tmp_path, any_fabric, epochs=2)
    state = training.fit("flac", silent=True)
    assert all(p.dtype == torch.float32 for p in training.method.parameters())
    assert state.history[-1]["pairs"] > 0 and math.isfinite(state.history[-1]["loss"])


def test_a_flac_that_does_nothing_says_so_once(
    fabric: Fabric, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    training = toy_training("flac", tmp_path, fabric, epochs=3)
    assert training.method.advice({"spread": 0.5, "pairs": 3.0, "flac": 1.0, "out_of_reach": 0.0}) is None
    table = training.batch_of.bias.table.features  # type: ignore[attr-defined]
    table.copy_(torch.ones_like(table))  # a bias model that sees no difference
    training.fit("flac", silent=False)
    said = capsys.readouterr().err
    assert said.count("cannot tell attributes apart") == 1
    table.copy_(torch.eye(2)[torch.from_numpy(toy_data().y)])  # one that sees the class
    other = toy_training("flac", tmp_path / "other", fabric, epochs=2)
    other.batch_of = training.batch_of
    other.fit("flac", silent=False)
    assert capsys.readouterr().err.count("FLAC did nothing") == 1


def test_a_second_forward_sees_the_new_weights_under_autocast() -> None:
    from fairflac.training.engine import make_fabric

    fabric = make_fabric("bf16-mixed")
    method = toy_method("vanilla")
    optimisation = Optimisation(method, toy_config("vanilla", lr=0.5).train, fabric)
    x = torch.rand(4, 3, 6, 6)
    with fabric.autocast():
        before = method.predict(x)
        optimisation(before.float().square().mean())
        inside = method.predict(x)
    with fabric.autocast():
        after = method.predict(x)
    assert torch.equal(inside, after) and not torch.equal(inside, before)


def test_a_checkpoint_of_another_config_is_refused(fabric: Fabric, tmp_path: Path) -> None:
    toy_training("vanilla", tmp_path, fabric, epochs=1).fit("vanilla", silent=True)
    with pytest.raises(UserError, match="does not belong to this run"):
        toy_training("vanilla", tmp_path, fabric, epochs=2, lr=0.5).fit("vanilla", silent=True)


def test_every_process_goes_on_with_its_own_row_of_random_states() -> None:
    drawn, states = [], []
    for seed in range(4):
        torch.manual_seed(seed)
        states.append(torch.get_rng_state())
        drawn.append(torch.rand(5))
    rows = torch.stack(states)
    for seed in range(4):
        engine.set_generators({"cpu": rows[seed]})
        assert torch.equal(torch.rand(5), drawn[seed])


def test_a_run_resumed_inside_an_epoch_sees_the_same_images(
    any_fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watched(folder: str, seen: list[torch.Tensor]) -> Training:
        training = toy_training("flac with supcon", tmp_path / folder, any_fabric, epochs=2, augment="photo")
        step = training.method.step

        def watch(batch: Batch, minimise: Minimise) -> dict[str, torch.Tensor]:
            seen.append(torch.cat(batch.views))
            return step(batch, minimise)

        monkeypatch.setattr(training.method, "step", watch)
        return training

    whole: list[torch.Tensor] = []
    parts: list[torch.Tensor] = []
    uninterrupted, broken = watched("whole", whole), watched("broken", parts)
    uninterrupted.fit("flac", silent=True)
    maybe_save = broken._maybe_save

    def stop_after_four_steps(stop: threading.Event) -> None:
        if len(parts) == 4:
            stop.set()
        maybe_save(stop)

    monkeypatch.setattr(broken, "_maybe_save", stop_after_four_steps)
    with pytest.raises(Stopped):
        broken.fit("flac", silent=True)
    resumed = watched("broken", parts)
    torch.rand(7)  # the global generator has no part in it
    resumed.fit("flac", silent=True)
    assert broken.state.epoch == 1 and broken.state.step == 1
    assert len(whole) == len(parts) == 6
    assert all(torch.equal(a, b) for a, b in zip(whole, parts, strict=True))
    weights = uninterrupted.method.state_dict()
    assert all(torch.equal(value, weights[key]) for key, value in resumed.method.state_dict().items())


def test_a_loss_that_is_not_finite_is_not_saved_inside_an_epoch(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairflac.training.engine.CHECKPOINT_SECONDS", -1.0)  # a checkpoint after every step
    training = toy_training("vanilla", tmp_path, fabric, epochs=1)
    step = training._step

    def poison(index: torch.Tensor) -> None:
        step(index)
        if training.state.step == 2:
            training.state.sums["loss"] *= math.nan

    monkeypatch.setattr(training, "_step", poison)
    with pytest.raises(UserError, match="loss became nan"):
        training.fit("vanilla", silent=True)
    assert checkpoint.load(training.run.last)["state"]["step"] == 1


def test_short_epochs_are_not_spent_on_checkpoints(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first epoch and the last are saved. A run that was killed between them comes to the same end."""
    monkeypatch.setattr("fairflac.training.engine.EPOCH_CHECKPOINT_SECONDS", math.inf)
    saved = []
    save = checkpoint.save
    monkeypatch.setattr(
        checkpoint, "save", lambda path, content: (saved.append(content["state"]["epoch"]), save(path, content))
    )
    whole = toy_training("vanilla", tmp_path / "whole", fabric, epochs=5)
    whole.fit("vanilla", silent=True)
    assert saved == [1, 5]

    killed = toy_training("vanilla", tmp_path / "killed", fabric, epochs=5)
    end_epoch = killed._end_epoch

    def power_fails_after_the_third() -> str | None:
        advice = end_epoch()
        if killed.state.epoch == 3:
            raise KeyboardInterrupt
        return advice

    monkeypatch.setattr(killed, "_end_epoch", power_fails_after_the_third)
    with pytest.raises(KeyboardInterrupt):
        killed.fit("vanilla", silent=True)
    again = toy_training("vanilla", tmp_path / "killed", fabric, epochs=5)
    again.fit("vanilla", silent=True)
    weights = whole.method.state_dict()
    assert all(torch.equal(value, weights[key]) for key, value in again.method.state_dict().items())
    assert [entry["epoch"] for entry in again.state.history] == [1, 2, 3, 4, 5]


def test_a_collapse_to_one_class_is_told() -> None:
    def table(prediction: list[int], y: list[int]) -> Predictions:
        values = [np.array(column) for column in (range(4), y, prediction, [0.5] * 4)]
        return Predictions(*values, features=np.zeros((4, 2)), bias={}, aligned={})

    assert "collapsed" in str(collapse_advice(table([1, 1, 1, 1], [0, 1, 0, 1]), "validation"))
    assert collapse_advice(table([1, 1, 0, 1], [0, 1, 0, 1]), "validation") is None
    assert collapse_advice(table([1, 1, 1, 1], [1, 1, 1, 1]), "validation") is None  # nothing else to be right on
