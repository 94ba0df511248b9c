"""Pairs in S per q: what was counted in the batches, and nothing from runs that have no S."""

from typing import Any

import numpy as np
import pytest

from fairflac.errors import UserError
from fairflac.reporting.figures.pairs import distributions, pairs_per_batch
from fairflac.reporting.figures.style import NothingToDraw
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, table

LOGGED = [{"epoch": 1, "loss": 1.0, "pairs": 1.0}]


@pytest.fixture
def flac(make_run: MakeRun) -> Any:
    def make(q: float | None, pairs: list[int], **more: Any) -> Run:
        more = {"train": {"batch_size": 128}, "data_options": {} if q is None else {"q": q}, "history": LOGGED, **more}
        run = make_run(more.pop("method", "flac"), table(1.0, 0.5), run_id=f"q{q}", **more)
        np.save(run.pairs_per_batch, np.array(pairs))
        return run

    return make


@pytest.fixture
def runs(flac: Any, make_run: MakeRun) -> list[Run]:
    return [
        flac(0.99, [30, 50]),
        flac(0.9, [300, 500, 500]),
        flac(0.99, [70], seed=1),
        flac(0.5, [16256], method_options={"pairs": "all"}),  # every pair, so no S
        flac(0.8, [40], method="jtt", history=[{"epoch": 1, "loss": 1.0}]),  # a bias model, and another use for it
        make_run("flac", table(1.0, 0.5), run_id="old", history=LOGGED),  # counted nothing
    ]


def test_seeds_are_pooled_and_others_left_out(runs: list[Run]) -> None:
    first, second = distributions(runs)
    assert (first.label, first.pairs.tolist()) == ("flac, q = 0.9", [300, 500, 500])
    assert (second.label, second.pairs.tolist()) == ("flac, q = 0.99", [30, 50, 70])


def test_bars_are_shares_of_batches_over_one_scale(runs: list[Run]) -> None:
    drawing = pairs_per_batch(runs)
    upper, lower = drawing.figure.axes
    assert upper.get_xlim() == lower.get_xlim()
    for axes, pairs in ((upper, [300, 500, 500]), (lower, [30, 50, 70])):
        bars = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height()) for bar in axes.patches]
        for left, right, height in bars:
            assert height == pytest.approx(sum(left <= number < right for number in pairs) / 3)
        assert sum(height for *_, height in bars) == pytest.approx(1)
    assert "pairs in S per batch of 128" in drawing.figure.get_supxlabel()


def test_the_caption_has_mean_range_batches_and_largest(runs: list[Run]) -> None:
    caption = pairs_per_batch(runs).caption
    assert "flac, q = 0.99: 50.0 on average (95 % range 30.0–70.0, n = 3 batches), at most 70 of 16,256" in caption
    assert "augmented" not in caption


def test_live_features_are_named_for_what_they_are(flac: Any) -> None:
    live = flac(0.9, [4, 6], train={"batch_size": 128, "bias_features": "live"})
    assert "flac, q = 0.9 had augmented images; counted are the images as they are" in pairs_per_batch([live]).caption


def test_batches_without_pairs(flac: Any) -> None:
    (axes,) = pairs_per_batch([flac(1, [0, 0, 0])]).figure.axes
    assert [bar.get_height() for bar in axes.patches] == [1]


def test_other_batches_and_datasets_are_named(flac: Any, runs: list[Run]) -> None:
    other = flac(None, [8], method="flac-b", dataset="faces", train={"batch_size": 8})
    labels = [one.label for one in distributions([runs[0], other])]
    assert labels == ["flac, q = 0.99, toy, batch of 128", "flac-b, faces, batch of 8"]


def test_not_drawn(runs: list[Run]) -> None:
    with pytest.raises(NothingToDraw, match="only FLAC"):
        pairs_per_batch(runs[3:])


def test_a_damaged_file_is_one_line(runs: list[Run]) -> None:
    runs[0].pairs_per_batch.write_bytes(b"\x93NUMPY")
    with pytest.raises(UserError, match="is damaged"):
        pairs_per_batch(runs)
