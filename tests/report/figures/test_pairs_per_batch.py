"""Pairs in S per q: what the runs logged, and nothing from runs that have no S."""

from typing import Any

import pytest

from fairflac.report.figures import NothingToDraw, pairs_per_batch
from fairflac.report.figures.pairs_per_batch import count_pairs
from fairflac.runs import Run
from report.hand_made import MakeRun, table


def logged(*pairs: float) -> list[dict[str, Any]]:
    return [{"epoch": number + 1, "loss": 1.0, "pairs": value} for number, value in enumerate(pairs)]


@pytest.fixture
def runs(make_run: MakeRun) -> list[Run]:
    numbers, train = table(1.0, 0.5), {"batch_size": 128}

    def flac(q: float, history: list[dict[str, Any]], **more: Any) -> Run:
        return make_run("flac", numbers, run_id=f"q{q}", history=history, train=train, data_options={"q": q}, **more)

    return [
        flac(0.99, logged(30, 50), results={"bias_model_quality": {"pairs": 44.0}}),
        flac(0.9, logged(300, 500)),
        flac(0.99, logged(70), seed=1),
        flac(0.5, logged(16256), method_options={"pairs": "all"}),  # every pair, so no S
        make_run("vanilla", numbers, history=[{"epoch": 1, "loss": 1.0}]),
        make_run("flac", numbers, run_id="old", data_options={"q": 0.7}),  # has no history
    ]


def test_bars_are_what_the_runs_logged(runs: list[Run]) -> None:
    first, second = count_pairs(runs)
    assert (first.label, first.epochs, first.before) == ("q = 0.9\nflac", [300, 500], [])
    assert (second.label, second.epochs, second.before) == ("q = 0.99\nflac", [30, 50, 70], [44])
    assert first.images == second.images == 128


def test_drawn_heights_ranges_and_words(runs: list[Run]) -> None:
    drawing = pairs_per_batch(runs)
    axes = drawing.figure.axes[0]
    assert [bar.get_height() for bar in axes.patches] == [400, 50]
    strokes = [line.get_ydata() for line in axes.lines if len(line.get_ydata()) == 2]
    assert [list(ends) for ends in strokes] == [[300, 500], [30, 70]]
    assert [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "D"] == [44]
    assert axes.get_ylabel() == "pairs in S per batch of 128"
    assert "q = 0.9 flac: 400.0, q = 0.99 flac: 50.0" in drawing.caption


def test_two_views_are_a_larger_batch(make_run: MakeRun, runs: list[Run]) -> None:
    contrastive = make_run(
        "flac",
        table(1, 1),
        run_id="con",
        history=logged(9),
        train={"batch_size": 64},
        method_options={"task": "supcon"},
    )
    assert [bar.images for bar in count_pairs([*runs[:1], contrastive])] == [128, 128]


def test_other_batches_and_datasets_are_named(make_run: MakeRun, runs: list[Run]) -> None:
    other = make_run(
        "flac-b", table(1, 1), dataset="faces", data_options={}, history=logged(9), train={"batch_size": 8}
    )
    axes = pairs_per_batch([runs[0], other]).figure.axes[0]
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["toy\nq = 0.99\nflac\nbatch of 128", "faces\nflac-b\nbatch of 8"]


@pytest.mark.parametrize(("kept", "reason"), [(slice(3, None), "only FLAC"), (slice(1, 2), "one q only")])
def test_not_drawn(runs: list[Run], kept: slice, reason: str) -> None:
    with pytest.raises(NothingToDraw, match=reason):
        pairs_per_batch(runs[kept])
