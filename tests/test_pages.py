"""Every page: its commands are ones that the program has, with options that it knows."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from fairflac.cli import app
from test_readme import blocks

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
COMMAND = re.compile(r"^(?:\$ |    )?(?:[\w./-]+/)?(fairflac .*)$", re.MULTILINE)


def commands(page: str) -> list[list[str]]:
    """The words of the calls in blocks of code, fenced or indented, without comments."""
    fenced = "\n".join(re.findall(r"^```\w*\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE))
    indented = "\n".join(re.findall(r"^    fairflac .*", page, flags=re.MULTILINE))
    found = [found[1].removesuffix("\\") for found in COMMAND.finditer(f"{fenced}\n{indented}")]
    return [shlex.split(line, comments=True)[1:] for line in found]


def unknown_options(words: list[str]) -> list[str]:
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        assert words[0] in command.commands or words[0].startswith("-"), f"there is no command {words[0]}"
        if words[0].startswith("-"):  # of the program itself
            break
        command, words = command.commands[words[0]], words[1:]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help", "--plugin"}
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [word for word in given if word not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_commands_and_options_exist(page: Path) -> None:
    wrong = [(words, bad) for words in commands(page.read_text()) if (bad := unknown_options(words))]
    assert wrong == []


def test_the_search_for_options_finds_mistakes() -> None:
    assert commands("```bash\nfairflac train a b --sed 1  # x\n```\n\n    fairflac demo\n") == [
        ["train", "a", "b", "--sed", "1"],
        ["demo"],
    ]
    assert unknown_options(["train", "a", "b", "--sed", "1"]) == ["--sed"]
    with pytest.raises(AssertionError, match="no command trian"):
        unknown_options(["trian"])


def test_the_loss_on_the_page_for_engineers(capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "engineer.md").read_text()
    [program] = blocks("python", page)
    exec(compile(program, "docs/engineer.md", "exec"), {})
    assert capsys.readouterr().out in page
