"""Which precision a run is trained in, and that it stays in it."""

import threading
import time
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from fairflac.config.run_config import resolve
from fairflac.errors import Stopped, UserError
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from fairflac.runs.directory import Run, Workspace
from fairflac.system import bf16, checkpoint, hardware
from fairflac.training import engine, precision
from fairflac.training.engine import make_fabric
from fairflac.training.pipeline import fit, train_config
from fairflac.types import Network, Output
from toy import ToyNet, toy_config, toy_data, toy_method

CPU, SHAPE = torch.device("cpu"), (3, 6, 6)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """One that nothing is known of, with bf16."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(precision.VARIABLE, raising=False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    monkeypatch.setattr(hardware, "bf16_works", lambda: True)
    return monkeypatch


def chosen(net: Network, begun: str | None = None) -> str:
    return precision.choose_precision("auto", net, SHAPE, CPU, begun)


@pytest.mark.parametrize(
    ("device", "capabilities", "works", "expected"),
    [
        ("cpu", {"avx512_bf16": True}, True, True),
        ("cpu", {"amx_bf16": True}, True, True),
        ("cpu", {"amx_bf16": True, "avx512_bf16": True}, False, False),  # announced, and ends the process
        ("cpu", {"avx2": True, "avx512_f": True}, True, False),  # emulated
        ("mps", {}, True, False),
    ],
)
def test_who_has_bf16(
    device: str, capabilities: dict[str, bool], works: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    monkeypatch.setattr(hardware, "bf16_works", lambda: works)
    assert hardware.has_bf16(device) == expected


def test_auto_goes_by_the_steps_of_the_network(machine: pytest.MonkeyPatch) -> None:
    faster = {"ResNet18": 1.5, "SimpleConvNet": 0.6}
    asked: list[str] = []

    def gain(net: Network, shape: tuple[int, ...], device: torch.device) -> float:
        asked.append(type(net).__name__)
        return faster[asked[-1]]

    machine.setattr(precision, "bf16_gain", gain)
    for _ in range(2):  # the second time it is known
        assert chosen(ResNet18(2)) == "bf16-mixed"
        assert chosen(SimpleConvNet(2, kernel_size=3)) == "32-true"
    assert asked == ["ResNet18", "SimpleConvNet"]
    precision.choose_precision("auto", ResNet18(2), (3, 9, 9), CPU)  # another size is another question
    assert asked[2:] == ["ResNet18"]


def test_a_gain_too_small_for_lost_digits(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(precision, "bf16_gain", lambda *_: 1.1)
    assert chosen(ToyNet(2)) == "32-true"


def test_without_bf16_nothing_is_measured(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(hardware, "bf16_works", lambda: False)
    machine.setattr(precision, "bf16_gain", lambda *_: pytest.fail("measured"))
    assert chosen(ToyNet(2)) == "32-true"


def test_steps_are_measured_and_leave_no_trace() -> None:
    net = SimpleConvNet(2, kernel_size=3, channels=(2, 2, 4, 4))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    state = torch.get_rng_state()
    assert precision.bf16_gain(net, (3, 12, 12), CPU) > 0
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert torch.equal(state, torch.get_rng_state()) and all(p.grad is None for p in net.parameters())
    assert precision.StepTimer(net, (3, 12, 12), CPU).seconds_per_image("32-true") > 0


def test_a_step_is_timed_until_the_device_has_done_it(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    steps = precision.StepTimer(ToyNet(2), SHAPE, CPU)
    monkeypatch.setattr(torch.cpu, "synchronize", lambda: waited.append(1) or time.sleep(0.2))
    assert steps.seconds("32-true") > 0.2 and len(waited) == 2


class Stubborn(Network):
    """As somebody may have written it: a product of two types is an error."""

    feature_dim = 4

    def __init__(self) -> None:
        super().__init__()
        self.first, self.fc = nn.Linear(8, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Output:
        features = self.first(x)
        with torch.autocast("cpu", enabled=False):
            return Output(self.fc(features), features)


def test_a_network_that_cannot_do_it_is_trained_in_fp32() -> None:
    assert precision.bf16_gain(Stubborn(), (8,), CPU) == bf16.BROKEN


def test_the_variable_says_what_auto_means(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(precision, "bf16_gain", lambda *_: 1.0)
    for said, expected in {"bf16-mixed": "bf16-mixed", "32-true": "32-true", "auto": "32-true", "": "32-true"}.items():
        machine.setenv(precision.VARIABLE, said)
        assert chosen(ToyNet(2)) == expected
        assert precision.choose_precision("32-true", ToyNet(2), SHAPE, CPU) == "32-true"  # said of this run
    for wrong in ("half", "16-mixed"):
        machine.setenv(precision.VARIABLE, wrong)
        with pytest.raises(UserError, match=rf"{precision.VARIABLE}=half|needs a GPU"):
            chosen(ToyNet(2))


def test_a_run_goes_on_as_it_was_begun(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(precision, "bf16_gain", lambda *_: 2.0)
    assert chosen(ToyNet(2), "32-true") == "32-true"
    machine.setattr(precision, "bf16_gain", lambda *_: 0.5)
    assert chosen(ToyNet(2), "bf16-mixed") == "bf16-mixed"
    machine.setattr(hardware, "bf16_works", lambda: False)
    assert chosen(ToyNet(2), "bf16-mixed") == "32-true"


def trained(run: Run) -> None:
    data, method = toy_data(), toy_method("vanilla")
    fit(method, toy_config("vanilla", epochs=3, precision="auto"), data, make_fabric(), run, label="toy")


def half_trained(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after two epochs."""
    maybe_save = engine.Training._maybe_save

    def stop_in_the_third(training: engine.Training, stop: threading.Event) -> None:
        if training.state.epoch == 2:
            stop.set()
        maybe_save(training, stop)

    with monkeypatch.context() as patch:
        patch.setattr(engine.Training, "_maybe_save", stop_in_the_third)
        with pytest.raises(Stopped):
            trained(run)


@pytest.mark.parametrize(
    ("begun", "bf16_here", "ends", "said"),
    [
        ("bf16-mixed", True, "bf16-mixed", False),
        ("bf16-mixed", False, "32-true", True),
        ("32-true", True, "32-true", False),
    ],
)
def test_resumed_on_another_kind_of_cpu(
    begun: str,
    bf16_here: bool,
    ends: str,
    said: bool,
    tmp_path: Path,
    machine: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = Run(tmp_path / "run")
    machine.setattr(precision, "bf16_gain", lambda *_: 2.0 if begun == "bf16-mixed" else 0.5)
    half_trained(run, machine)
    assert run.env["precision"] == checkpoint.load(run.last)["precision"] == begun
    machine.setattr(hardware, "bf16_works", lambda: bf16_here)  # another machine, where it is the other way round
    machine.setenv("XDG_CACHE_HOME", str(tmp_path / "another home"))
    machine.setattr(precision, "bf16_gain", lambda *_: 0.5 if begun == "bf16-mixed" else 2.0)
    capsys.readouterr()
    trained(run)
    assert len(run.history) == 3 and run.env["precision"] == checkpoint.load(run.last)["precision"] == ends
    assert (f"begun in {begun}, goes on in {ends}: not the same bit for bit" in capsys.readouterr().err) == said


def test_each_stage_has_its_own_precision(photos: Path, tmp_path: Path) -> None:
    changes = {"path": str(photos), "size": 16, "precision": "bf16-mixed", "bias_model.precision": "32-true"}
    tiny = {"net": "simple-conv", "channels": [2, 2, 2, 2], "kernel_size": 3, "batch_size": 8, "epochs": 1}
    config = resolve("folder", "flac-b", 0, {**changes, **tiny})
    workspace = Workspace(tmp_path, tmp_path, silent=True)
    run, stage_one = train_config(config, workspace), config.stage_one()
    assert run is not None and stage_one is not None
    assert run.env["precision"] == "bf16-mixed" and workspace.run(stage_one).env["precision"] == "32-true"
    assert run.env["processes"] == 1


def test_the_generator_of_a_gpu_is_in_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be known without one: its state is asked for, and given back to it where it is there again."""
    gpu = torch.Generator().manual_seed(7)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: gpu.get_state())
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state: gpu.set_state(state))
    states = engine.generator_states(torch.device("cuda"))
    assert set(states) == {"cpu", "cuda"} and set(engine.generator_states(CPU)) == {"cpu"}
    drawn, on_gpu = torch.rand(3), torch.rand(3, generator=gpu)
    engine.set_generators(states)  # there is no GPU here
    assert torch.equal(torch.rand(3), drawn) and not torch.equal(torch.rand(3, generator=gpu), on_gpu)
    monkeypatch.setattr(engine, "best_device", lambda: "cuda")
    engine.set_generators(states)
    assert torch.equal(torch.rand(3), drawn) and torch.equal(torch.rand(3, generator=gpu), on_gpu)
