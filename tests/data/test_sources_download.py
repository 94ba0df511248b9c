"""Sources in turn, and packages that are handed over and never run."""

import hashlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fairflac.data import sources as fetch
from fairflac.errors import UserError

SHA256 = hashlib.sha256(b"package").hexdigest()
Run = Callable[..., subprocess.CompletedProcess[str]]


def tool_that(code: int, stderr: str, leaves: dict[str, bytes] | None = None) -> Run:
    def run(command: list[str], *, cwd: str, **options: object) -> subprocess.CompletedProcess[str]:
        for name, content in (leaves or {}).items():
            (Path(cwd) / name).write_bytes(content)
        return subprocess.CompletedProcess(command, code, "", stderr)

    return run


def fail(error: Exception) -> bytes:
    raise error


def test_sources_are_tried_in_turn() -> None:
    said: list[str] = []
    sources = {"first": lambda: fail(OSError("no route")), "second": lambda: b"yes", "third": lambda: b"never asked"}
    assert fetch.first_that_works("name", sources, said.append, "advice") == b"yes"
    assert said == ["name: trying first", "name: trying second"]


def test_when_all_fail_each_reason_is_in_one_line() -> None:
    sources = {"first": lambda: fail(OSError("no\nroute")), "second": lambda: fail(EOFError("short"))}
    with pytest.raises(
        UserError, match=r"^name could not be fetched \(first: no route; second: short\): ask a friend$"
    ):
        fetch.first_that_works("name", sources, lambda line: None, "ask a friend")


def test_a_download_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(5 * 2**20))
    assert fetch.download(path.as_uri(), 5 * 2**20) == path.read_bytes()
    assert len(fetch.download(path.as_uri(), 2**20)) == 2**21  # one piece more, to see that it is too long


def test_pip_hands_over_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", tool_that(0, "[notice] a new pip", {"some.whl": b"package"}))
    assert fetch.pip_wheel("some==1", SHA256) == b"package"
    with pytest.raises(UserError, match="the package from pip has the wrong sha256"):
        fetch.pip_wheel("some==1", "0" * 64)


def test_npm_hands_over_the_tarball(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch.shutil, "which", lambda name: "npm")
    monkeypatch.setattr(subprocess, "run", tool_that(0, "", {"some-1.tgz": b"package"}))
    assert fetch.npm_tarball("some@1", SHA256) == b"package"
    monkeypatch.setattr(fetch.shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="npm is not at hand"):
        fetch.npm_tarball("some@1", SHA256)


@pytest.mark.parametrize(
    ("code", "stderr", "reason"),
    [
        (1, "WARNING: retrying\nERROR: No matching distribution\n[notice] a new pip\n", "ERROR: No matching distrib"),
        (1, "/usr/bin/python: No module named pip\n", "/usr/bin/python: No module named pip"),
        (0, "", "no message"),
        (1, "npm warn old\nnpm error code E404\nnpm error 404 Not Found\nnpm error A complete log\n", "npm error 404"),
    ],
)
def test_why_a_package_manager_failed(code: int, stderr: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", tool_that(code, stderr))
    with pytest.raises(UserError, match=f"^pip failed: {reason}"):
        fetch.pip_wheel("some==1", SHA256)
