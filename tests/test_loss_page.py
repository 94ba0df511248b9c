"""Every program of the pages on the loss runs as it is printed, and FLAC makes the difference that they promise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fairflac.losses import FLACLoss

DOCS = Path(__file__).parents[1] / "docs"
TEXT = "".join((DOCS / name).read_text() for name in ("loss.md", "loss-frameworks.md", "loss-settings.md"))
HOOK, *PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
PLAIN, LIGHTNING, ACCELERATE, TRAINER, REACHABLE, SEVERAL = PROGRAMS
POINTS = 5  # that FLAC must win; it won 11 to 31


def assert_flac_helps(printed: str) -> None:
    (ordinary, _), *_, (debiased, pairs) = re.findall(r"alpha \d+: (\d+)% right, (\d+) pairs", printed)
    assert int(debiased) >= int(ordinary) + POINTS and int(pairs) > 0, printed


def run(program: str) -> None:
    exec(compile(program, "docs/loss.md", "exec"), {"__name__": "__main__"})


@pytest.fixture
def heavy_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning needs what all other tests do without, here and in the processes that it starts."""
    heavy = [folder for folder in sys.path if Path(folder).name != "light_imports"]
    monkeypatch.setattr(sys, "path", heavy)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(heavy))


def test_a_hook_catches_features(capsys: pytest.CaptureFixture[str]) -> None:
    run(HOOK)
    assert "[5, 32]" in capsys.readouterr().out


def test_reachable_targets_are_reached(capsys: pytest.CaptureFixture[str]) -> None:
    run(REACHABLE)
    assert capsys.readouterr().out == "tensor(0.)\n"


def test_several_attributes_have_pairs_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    run(SEVERAL)
    first, second = map(float, re.fullmatch(r"tensor\((.*)\) tensor\((.*)\)\n", capsys.readouterr().out).groups())
    assert first > 0 and second > 0


def test_plain(capsys: pytest.CaptureFixture[str]) -> None:
    run(PLAIN)
    assert_flac_helps(capsys.readouterr().out)


@pytest.mark.usefixtures("heavy_imports")
@pytest.mark.filterwarnings("ignore:.isinstance.treespec, LeafSpec.")  # Lightning's own
@pytest.mark.filterwarnings("ignore:.*does not have many workers")
@pytest.mark.filterwarnings("ignore:Found . module.s. in eval mode at the start of training")  # as it should be
def test_lightning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run(LIGHTNING)
    assert_flac_helps(capsys.readouterr().out)


def test_accelerate(capsys: pytest.CaptureFixture[str]) -> None:
    run(ACCELERATE)
    assert_flac_helps(capsys.readouterr().out)


def test_trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run(TRAINER)
    assert_flac_helps(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.usefixtures("heavy_imports")
@pytest.mark.parametrize("program", [LIGHTNING, ACCELERATE, TRAINER], ids=["lightning", "accelerate", "trainer"])
def test_on_two_processes(program: str, tmp_path: Path) -> None:
    """The short sister, of the loss alone, is losses/test_gather.py."""
    on_two = program.replace("Accelerator()", "Accelerator(cpu=True)").replace("L.Trainer(", "L.Trainer(devices=2, ")
    script = tmp_path / "program.py"
    script.write_text(on_two.replace("batch_size=128", "batch_size=64"))
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", str(script)]
    answer = subprocess.run(launch, capture_output=True, text=True, cwd=tmp_path, timeout=280)
    assert answer.returncode == 0, answer.stderr
    assert_flac_helps(answer.stdout)


def test_a_scaler_changes_nothing() -> None:
    g = torch.Generator().manual_seed(0)
    b, y = torch.eye(3)[torch.arange(30) % 3], torch.randint(0, 3, (30,), generator=g)
    weight = torch.randn(5, 4, generator=g, requires_grad=True)
    x, optimizer = torch.randn(30, 5, generator=g), torch.optim.SGD([weight], lr=0.1)
    loss = 100 * FLACLoss()(b, x @ weight, y)
    [expected] = torch.autograd.grad(loss, weight, retain_graph=True)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
    scaler.unscale_(optimizer)
    assert expected.abs().max() > 0
    torch.testing.assert_close(weight.grad, expected)
