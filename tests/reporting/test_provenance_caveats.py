"""Caveats: always there, and louder where they apply."""

from fairflac.reporting.provenance import caveats
from reporting.hand_made import MakeRun, table


def test_they_are_always_there(make_run: MakeRun) -> None:
    found = caveats([make_run("flac", table(1.0, 0.5))])
    words = " ".join(caveat.text for caveat in found)
    assert "100 %" in words and "batches of 32 or less" in words and "one attribute" in words
    assert not any(caveat.here for caveat in found)


def test_they_say_when_they_apply(make_run: MakeRun) -> None:
    changes = {"data_options": {"q": 1.0}, "train": {"batch_size": 32}}
    attributes = {"attributes": {"hue": ["a"], "size": ["b"]}}
    here = [c.here for c in caveats([make_run("flac-b", table(1.0, 0.5), results=attributes, **changes)]) if c.here]
    assert len(here) == 3 and "q = 1" in here[0] and "batch_size = 32" in here[1]
    assert not any(c.here for c in caveats([make_run("vanilla", table(1.0, 0.5), results=attributes, **changes)]))


def test_a_training_from_scratch_where_the_paper_has_weights_is_said_first(make_run: MakeRun) -> None:
    run = make_run("vanilla", table(1.0, 0.5), results={"from_scratch": True})
    assert "vanilla was trained from scratch" in caveats([run])[0].here
