"""What the README and the page on tuning show is what happens: commands are run (at a tiny scale), code is executed."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from fairflac.cli import main
from planted_bars import draw_folder

README = (Path(__file__).parents[1] / "README.md").read_text()
TUNING = (Path(__file__).parents[1] / "docs" / "tune.md").read_text()
TINY = ["--set", "epochs=1", "--set", "channels=[2,2,2,2]", "--set", "kernel_size=3"]


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def commands(page: str) -> list[list[str]]:
    """The words of every call of the program."""
    lines = [line for block in blocks("bash", page) for line in block.splitlines() if line.startswith("fairflac")]
    return [shlex.split(line) for line in lines]


def assert_runs(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code, (words, capsys.readouterr().err)


def test_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
    assert "tensor(" in capsys.readouterr().out


@pytest.mark.usefixtures("short_guesses")
def test_commands_run(
    tmp_path: Path, mnist_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(commands(README)) >= 8
    monkeypatch.chdir(tmp_path)
    draw_folder(tmp_path / "photos", 60, aligned=0.9, classes=("cat", "dog"))
    monkeypatch.setenv("FAIRFLAC_DATA", str(tmp_path / "data"))
    for words in commands(README):
        if "biased-mnist" in words[2:3] or words[1] == "tune":  # pages and figures take seconds for each dataset
            words += ["--runs", "others"]
        if words[1] == "train":
            # Settings given twice: the later one counts. MNIST at full size would take minutes even so.
            words = [word.replace("biased-mnist", "biased-digits") for word in words] + TINY + ["--no-report"]
        if words[1] == "tune":
            words += [*TINY, "--trials", "1"]
        if words[1:3] == ["data", "get"]:
            words += ["--from", str(mnist_folder)]
        if words[1] == "reproduce":  # the table of the runs that are there
            words += ["--from", "runs"]
        if words[1] == "debias":
            words += TINY[:2]
        words = [str(next(tmp_path.glob(w.replace("RUN", "*-s*")))) if "RUN" in w else w for w in words]  # a run's name
        assert_runs(words, monkeypatch, capsys)


def test_commands_of_the_page_on_tuning_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(commands(TUNING)) == 3
    monkeypatch.chdir(tmp_path)
    for words in commands(TUNING):
        assert_runs([*words, *TINY, "--trials", "1", "--data", str(tmp_path)], monkeypatch, capsys)
    assert len(list(tmp_path.rglob("tune-*.json"))) == 3


def test_commands_of_the_page_on_own_images_are_those_above() -> None:
    page = (Path(__file__).parents[1] / "docs" / "own-images.md").read_text()
    assert commands(page) and all(words in commands(README) for words in commands(page))


def test_every_make_target_it_names_exists() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", "\n".join(blocks("bash")), flags=re.MULTILINE):
        assert f"\n{target}:" in makefile
