"""What every method must do, whatever it is: parametrised over METHODS, so a new one is tested for free."""

import inspect
import math
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from fairflac.config.options import options_of
from fairflac.config.recipes import recipe_methods, recipe_names
from fairflac.errors import Stopped
from fairflac.methods import METHODS
from fairflac.training.engine import make_fabric
from fairflac.training.optimise import Optimisation
from fairflac.types import BiasLabelsHidden, BiasModelMissing
from toy import CASES, TASK, toy_batches, toy_config, toy_data, toy_method, toy_training

each_method = pytest.mark.parametrize("name", METHODS)
each_case = pytest.mark.parametrize("name", CASES)


@each_method
def test_is_described(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert getattr(method, "__final__", False), "methods are final: share functions, not classes"
    doc = inspect.getdoc(method) or ""
    assert "Paper:" in doc and "Deviations:" in doc
    assert any(name in recipe_methods(dataset) for dataset in recipe_names())
    assert all(not field.is_required() for field in options_of(method).model_fields.values())


@each_case
def test_step_moves_its_groups_and_nothing_else(name: str, fabric: Fabric, tmp_path: Path) -> None:
    training = toy_training(name, tmp_path, fabric)
    method = training.method
    before = {key: value.clone() for key, value in method.named_parameters()}
    logs = []
    for epoch in range(2):
        method.begin_epoch(epoch, training.batch_of.unaugmented())
        logs += [
            method.step(training.batch_of(index, epoch), training.optimisation) for index in training._batches(epoch)
        ]
    assert all(math.isfinite(value) for log in logs for value in log.values())
    assert all(not value.requires_grad and value.ndim == 0 for log in logs for value in log.values())
    trained = {id(p) for group in method.parameter_groups().values() for p in group}
    for key, parameter in method.named_parameters():
        moved = not torch.equal(before[key], parameter)
        assert moved == (id(parameter) in trained), key


@each_case
def test_trains_in_bf16(name: str, tmp_path: Path) -> None:
    training = toy_training(name, tmp_path, make_fabric("bf16-mixed"), epochs=2)
    history = training.fit(name, silent=True).history
    assert len(history) == 2 and all(math.isfinite(entry["loss"]) for entry in history)
    assert all(parameter.dtype == torch.float32 for parameter in training.method.parameters())


@each_case
def test_minimise_touches_only_the_named_group(name: str, fabric: Fabric) -> None:
    method = toy_method(name)
    optimisation = Optimisation(method, toy_config(name).train, fabric)
    group = next(iter(optimisation.groups))
    loss = sum((p.square().sum() for p in method.parameters()), torch.zeros(()))
    optimisation(loss, group)
    inside = {id(p) for p in optimisation.groups[group]}
    assert all((p.grad is not None) == (id(p) in inside) for p in method.parameters())


@each_case
def test_predict_is_deterministic_and_needs_no_bias(name: str) -> None:
    method = toy_method(name).eval()
    x = torch.rand(5, 3, 6, 6)
    first, second = method.predict(x), method.predict(x)
    assert first.shape == (5, TASK.num_classes)
    assert torch.equal(first, second)


@each_case
def test_undeclared_labels_are_out_of_reach(name: str, fabric: Fabric) -> None:
    method = toy_method(name)
    batch = toy_batches(method, toy_data(), fabric)(torch.arange(4), 0)
    if method.uses_bias_labels:
        assert batch.bias.shape == (4,)
    else:
        with pytest.raises(BiasLabelsHidden, match="uses_bias_labels"):
            _ = batch.bias
    if not method.needs_bias_model:
        with pytest.raises(BiasModelMissing, match="needs_bias_model"):
            _ = batch.bias_features
    assert len(batch.views) == method.num_views


@each_case
def test_state_dict_round_trip(name: str, fabric: Fabric, tmp_path: Path) -> None:
    training = toy_training(name, tmp_path, fabric, epochs=1)
    training.fit(name, silent=True)
    copy = toy_method(name, seed=7)
    copy.load_state_dict(training.method.state_dict())
    x = torch.rand(5, 3, 6, 6)
    assert torch.equal(copy.eval().predict(x), training.method.eval().predict(x))


@each_case
def test_resume_is_bit_exact(name: str, fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resume_is_bit_exact(name, fabric, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["flac", "lff", "disent with swaps", "ssa"])  # a loss, tables, two networks, stages
def test_resume_is_bit_exact_in_bf16(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resume_is_bit_exact(name, make_fabric("bf16-mixed"), tmp_path, monkeypatch)


def resume_is_bit_exact(name: str, fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = toy_training(name, tmp_path / "whole", fabric)
    whole.fit(name, silent=True)
    broken = toy_training(name, tmp_path / "broken", fabric)
    steps = iter(range(100))
    maybe_save = broken._maybe_save

    def stop_in_the_second_epoch(stop):  # type: ignore[no-untyped-def]
        if next(steps) == 4:
            stop.set()
        maybe_save(stop)

    monkeypatch.setattr(broken, "_maybe_save", stop_in_the_second_epoch)
    with pytest.raises(Stopped):
        broken.fit(name, silent=True)
    assert broken.state.epoch == 1 and broken.state.step == 2
    resumed = toy_training(name, tmp_path / "broken", fabric)
    resumed.fit(name, silent=True)
    assert_same_training(whole, resumed)


def assert_same_training(a, b) -> None:  # type: ignore[no-untyped-def]
    for key, value in a.method.state_dict().items():
        torch.testing.assert_close(value, b.method.state_dict()[key], rtol=0, atol=0, msg=key)  # some are lists
    without_time = [[{**entry, "seconds": 0} for entry in t.state.history] for t in (a, b)]
    assert without_time[0] == without_time[1]
    torch.testing.assert_close(a.optimisation.state_dict(), b.optimisation.state_dict(), rtol=0, atol=0)


@pytest.fixture(scope="module")
def two_process_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train every method on two processes (gloo, loopback) with half the batch each."""
    folder = tmp_path_factory.mktemp("two")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    script = Path(__file__).with_name("two_processes.py")
    places = [str(script.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    workers = []
    for rank in range(2):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0}
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "test"}
        env = {**os.environ, **{k: str(v) for k, v in place.items()}, **meeting, "PYTHONPATH": os.pathsep.join(places)}
        workers.append(subprocess.Popen([sys.executable, str(script), str(folder)], env=env))
    assert [worker.wait(timeout=240) for worker in workers] == [0, 0]
    return folder


# What is left of a gradient that cancels is rounding, which differs between CPUs, and Adam makes steps of it: HEX
# brings features to one length and projects them out. A hundredth of a step is allowed there.
ROUNDED = {"hex": 1e-4}


@each_case
def test_two_processes_equal_one(name: str, fabric: Fabric, tmp_path: Path, two_process_weights: Path) -> None:
    alone = toy_training(name, tmp_path, fabric)
    alone.fit(name, silent=True)
    together = torch.load(two_process_weights / f"{name}.pt", weights_only=True)
    for key, value in alone.method.state_dict().items():
        torch.testing.assert_close(value, together["method"][key], rtol=1e-4, atol=ROUNDED.get(name, 1e-5), msg=key)
    for mine, theirs in zip(alone.state.history, together["history"], strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-4)
        assert mine["validation"] == pytest.approx(theirs["validation"])
