"""The program as a user calls it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fairflac.cli import main
from fairflac.system import progress


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


Program = Callable[..., Answer]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    def call(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["fairflac", *map(str, words)])
        monkeypatch.setattr(progress, "_told", set())  # every call is a new program: nothing was said before it
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Answer(int(end.value.code or 0), captured.out, captured.err)

    return call


def refused(answer: Answer, *parts: str) -> None:
    """One line on standard error, exit code 2, no traceback."""
    assert answer.code == 2, answer.err
    lines = [line for line in answer.err.splitlines() if line.startswith("fairflac:")]
    assert len(lines) == 1 and "Traceback" not in answer.err, answer.err
    assert answer.err.splitlines()[-1] == lines[0]  # it says all there is to say
    for part in parts:
        assert part in lines[0]
