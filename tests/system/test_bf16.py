"""Whether bf16 is used is decided by trying it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairflac.system import bf16

DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"


@pytest.fixture(autouse=True)
def asked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(bf16.ISA, raising=False)
    bf16.bf16_works.cache_clear()
    yield
    bf16.bf16_works.cache_clear()


def test_a_processor_that_dies_of_it_is_found_out_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bf16, "TRIAL", DIES)
    assert not bf16.bf16_works()
    bf16.bf16_works.cache_clear()
    monkeypatch.setattr(bf16, "TRIAL", "pass")  # another process reads what the first has found
    assert not bf16.bf16_works()
    (kept,) = (tmp_path / "fairflac").iterdir()
    kept.write_text("not a number")
    bf16.bf16_works.cache_clear()
    assert bf16.bf16_works()


def test_the_trial_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bf16.ISA, "AVX512_CORE")  # no AMX, which may be broken here
    assert bf16.bf16_works()


def test_what_was_measured_is_kept_for_each_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bf16.kept_gain(lambda: 2.0, "one network") == 2.0
    assert bf16.kept_gain(lambda: 3.0, "one network") == 2.0
    assert bf16.kept_gain(lambda: 3.0, "another") == 3.0
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")  # nowhere to keep it
    assert bf16.kept_gain(lambda: 4.0, "one network") == 4.0


@pytest.mark.parametrize(
    ("flags", "trial", "told"),
    [
        ("avx512f amx_bf16", DIES, bf16.WITHOUT_AMX),
        ("avx512f amx_bf16", "pass", None),
        ("avx512f avx512_bf16", DIES, None),  # no AMX, nothing to keep clear of, and nothing is tried
    ],
)
def test_broken_amx_is_kept_clear_of(flags: str, trial: str, told: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bf16, "_cpuinfo", lambda: f"model name : Some CPU\nflags : fpu {flags}\n")
    monkeypatch.setattr(bf16, "TRIAL", trial)
    bf16.keep_clear_of_broken_amx()
    assert os.environ.get(bf16.ISA) == told
    monkeypatch.delenv(bf16.ISA, raising=False)


def test_what_the_user_says_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bf16.ISA, "AVX2")
    monkeypatch.setattr(bf16, "_cpuinfo", lambda: "flags : amx_bf16")
    monkeypatch.setattr(bf16, "TRIAL", DIES)
    bf16.keep_clear_of_broken_amx()
    assert os.environ[bf16.ISA] == "AVX2"


def test_asking_imports_no_torch() -> None:
    code = "import sys, fairflac.system.bf16; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
