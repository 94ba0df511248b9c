"""What a shell is told of the next word, for each shell, without torch."""

import os
import subprocess
import sys

import pytest

SCRIPT = (
    "import sys\nfrom fairflac.cli import main\n"
    "try:\n    main()\nfinally:\n    assert 'torch' not in sys.modules, 'torch was imported'"
)


def asked(shell: str, *words: str) -> str:
    """What the program answers when a shell asks for the last of these words."""
    line = " ".join(("fairflac", *words))
    told = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words))},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    environment = {**os.environ, **told, "_FAIRFLAC_COMPLETE": f"complete_{shell}"}
    answer = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert answer.returncode == 0 and not answer.stderr, answer.stderr
    return answer.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_of_datasets(shell: str) -> None:
    answer = asked(shell, "train", "biased-")
    assert "biased-digits" in answer and "biased-mnist" in answer and "utkface" not in answer


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tr"], ["train"]),
        (["train", "biased-digits", "flac"], ["flac", "flac-b", "flac-plus"]),
        (["tune", "biased-digits", "fairkl"], ["fairkl", "fairkl-lu"]),
        (["train", "biased-digits", "flac", "--set", "alp"], ["alpha="]),
        (["train", "biased-digits", "flac", "--set", "net=res"], ["net=resnet18"]),
        (["data", "get", "mn"], ["mnist"]),
        (["list", "rec"], ["recipes"]),
        (["reproduce", "table1"], ["table1", "table10", "table11", "table12"]),
        (["train", "biased-digits", "flac", "--logger", "w"], ["wandb"]),
        (["demo", "--qu"], ["--quiet"]),
    ],
)
def test_what_fits(words: list[str], expected: list[str]) -> None:
    assert asked("bash", *words).split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_is_shown_and_installed(shell: str, tmp_path: object) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(tmp_path)}
    for option, part in (("--show-completion", "_FAIRFLAC_COMPLETE"), ("--install-completion", f"{shell} completion")):
        words = [sys.executable, "-m", "fairflac", option, shell]
        answer = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        assert part in answer.stdout
