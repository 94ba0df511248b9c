"""What the page on using a model shows is what happens."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image

import foreign_models
from fairflac.cli import main
from fairflac.exporting.formats import BATCHES, TOLERANCE
from fairflac.nets.resnet import ResNet18

PAGE = (Path(__file__).parents[1] / "docs" / "export.md").read_text()
TINY = ["--set", "epochs=1", "--set", "channels=[2,2,2,2]", "--set", "kernel_size=3", "--no-report"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the page speaks of."""
    for name in ("digits/3/1.png", "digits/7/2.jpg", "photos/dog/old/3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 36), (90, 20, 7)).save(tmp_path / name)
    foreign_models.onnx_file(tmp_path / "theirs.onnx")
    foreign_models.torchscript(tmp_path / "theirs.pt")
    torch.save(ResNet18(3, stem="cifar").state_dict(), tmp_path / "weights.pth")
    (tmp_path / "mine.py").write_text("from foreign_models import MeanColour as build\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRFLAC_DATA", str(tmp_path / "data"))
    return tmp_path


def test_everything_on_the_page_runs(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = [shlex.split(line) for block in blocks("bash") for line in block.splitlines()]
    assert len(commands) == 11
    for words in commands:
        words = [str(next(workplace.glob(word.replace("RUN", "*-s*")))) if "RUN" in word else word for word in words]
        monkeypatch.setattr(sys, "argv", words + (TINY if words[1] == "train" else []))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, (words, capsys.readouterr().err)
    for name in ("answers.csv", "digits.onnx", "digits.md", "digits.pt", "digits.safetensors", "digits.json"):
        assert (workplace / name).is_file(), name
    capsys.readouterr()
    (program,) = blocks("python")
    exec(compile(program, "docs/export.md", "exec"), {})
    assert "(2, 10)" in capsys.readouterr().out


def test_numbers_on_the_page_are_those_of_the_code() -> None:
    text = " ".join(PAGE.split())
    assert f"in batches of {BATCHES[0]} and {BATCHES[1]}" in text
    assert f"more than {TOLERANCE:.0e}".replace("e-0", "e-") in text
