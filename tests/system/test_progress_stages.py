"""Which stage runs, how long all of them take, and nothing at all when that was asked for."""

import re

import pytest

from fairflac.system import progress
from fairflac.system.progress import be_quiet, expect, meter, stages, tell, tell_once

WORK = {"bias model (hue)": 100.0, "vanilla": 200.0, "flac": 300.0}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test sets; every step speaks."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
    return now


def test_the_stage_and_the_whole_time(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with stages():
        expect(WORK)
        expect({"flac": 9999.0})  # known already
        for label, done, seconds, left in (
            ("bias model (hue)", 0, 5.0, 5 + 50.0),  # 5 s for half of 100: 5 more, and 50 for the 500 to come
            ("vanilla", 6, 2.0, 2 + 14.0),  # 2 s for half of what was left, the 200; 7 s for the 150 done, 300 to come
            ("flac", 0, 3.0, None),
        ):
            with meter(label, 10, done=done) as bar:
                clock[0] += seconds
                bar.advance((10 - done) // 2)
            said = capsys.readouterr().err
            assert said.startswith(f"{list(WORK).index(label) + 1}/3 {label}  ")
            found = re.search(r"all of it: about (\d+) s left", said)
            assert (found and float(found[1])) == left
        with meter("predicting", 1) as bar:
            bar.advance()
        assert capsys.readouterr().err.startswith("predicting")
    with meter("vanilla", 1) as bar:  # the block has ended
        bar.advance()
    assert capsys.readouterr().err.startswith("vanilla")


def test_a_block_inside_another_is_a_part_of_it(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with stages():
        expect(WORK)
        with stages():
            expect({"vanilla": 1.0})
        with meter("flac", 1) as bar:
            bar.advance()
    assert capsys.readouterr().err.startswith("3/3 flac")


def test_quiet_is_quiet_but_for_what_must_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    be_quiet()
    try:
        with meter("vanilla", 1) as bar:
            bar.advance()
            bar.say("a hint")
        tell("a hint")
        tell_once("another")
        assert capsys.readouterr().err == ""
        tell("something is broken", even_quietly=True)
        assert capsys.readouterr().err == "something is broken\n"
    finally:
        be_quiet(False)
