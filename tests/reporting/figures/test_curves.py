"""Training curves: what was logged, and only what was logged."""

import pytest

from fairflac.reporting.figures.curves import training_curves
from fairflac.reporting.figures.style import NothingToDraw
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, table


@pytest.fixture
def models(make_run: MakeRun) -> dict[str, Run]:
    plain = [{"epoch": e, "loss": 2.0 / e, "validation": {"accuracy": 0.3 * e}} for e in (1, 2, 3)]
    flac = [{"epoch": e, "loss": 5.0 / e, "pairs": 100.0 + e, "threshold": 0.75} for e in (1, 2)]
    return {
        "vanilla": make_run("vanilla", table(1, 1), history=plain),
        "flac": make_run("flac", table(1, 1), history=flac),
        "old": make_run("di", table(1, 1)),
    }


def test_lines_are_what_was_logged(models: dict[str, Run]) -> None:
    panels = {axes.get_title(): axes for axes in training_curves(models).figure.axes if axes.get_visible()}
    assert list(panels) == [
        "training loss",
        "validation accuracy",
        "pairs in S per batch",
        "threshold of S (similarity)",
    ]
    logged = {
        title: [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
        for title, axes in panels.items()
    }
    assert logged["training loss"] == [([1, 2, 3], [2.0, 1.0, 2 / 3]), ([1, 2], [5.0, 2.5])]
    assert logged["validation accuracy"] == [([1, 2, 3], pytest.approx([0.3, 0.6, 0.9]))]
    assert logged["pairs in S per batch"] == [([1, 2], [101.0, 102.0])]
    assert logged["threshold of S (similarity)"] == [([1, 2], [0.75, 0.75])]
    for axes in panels.values():
        bottom, top = axes.get_ylim()
        assert all(bottom <= value <= top for line in axes.lines for value in line.get_ydata())


def test_a_model_keeps_its_line_in_every_panel_and_in_the_legend(models: dict[str, Run]) -> None:
    figure = training_curves(models).figure
    flac = [axes.lines[-1] for axes in figure.axes if axes.get_visible() and "valid" not in axes.get_title()]
    flac += [figure.legends[0].legend_handles[1]]
    assert len({(line.get_color(), line.get_linestyle()) for line in flac}) == 1  # type: ignore[union-attr]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["vanilla", "flac"]


def test_caption_has_the_ends(models: dict[str, Run]) -> None:
    caption = training_curves(models).caption
    assert "flac: training loss 2.5, pairs in S per batch 102, threshold of S (similarity) 0.75" in caption
    assert "old:" not in caption


def test_nothing_logged(models: dict[str, Run]) -> None:
    with pytest.raises(NothingToDraw, match="logged an epoch"):
        training_curves({"old": models["old"]})
