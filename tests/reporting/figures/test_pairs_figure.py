"""Distributions of similarities: panels, colours, and the numbers of the caption."""

import pytest
from matplotlib.colors import to_rgba

from fairflac.reporting.figures.pairs import pair_similarities, similarity_distributions, similarity_figure
from fairflac.reporting.figures.style import SAME_ATTRIBUTE, SAME_CLASS, NothingToDraw
from reporting.hand_made import MakeRun, table


def test_distributions_share_their_axes() -> None:
    figure = similarity_distributions({"vanilla": table(1.0, 0.0), "flac": table(1.0, 0.9)})
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("vanilla", "flac")
    assert first.get_xlim() == second.get_xlim() and first.get_ylim() == second.get_ylim()
    colours = {to_rgba(patch.get_facecolor(), 1) for patch in first.patches}
    assert {to_rgba(SAME_CLASS), to_rgba(SAME_ATTRIBUTE)} <= colours


def test_distributions_fill_lines_of_panels() -> None:
    named = {f"model {k}": table(1.0, 0.5) for k in range(4)}
    assert [axes.get_visible() for axes in similarity_distributions(named).axes] == [True] * 4 + [False] * 2
    assert len(similarity_distributions(named, columns=1).axes) == 4


def test_the_lowest_panel_of_each_column_has_numbers_below() -> None:
    named = {f"model {k}": table(1.0, 0.5) for k in range(4)}
    axes = similarity_distributions(named).axes[:4]
    shown = [any(label.get_visible() for label in panel.get_xticklabels()) for panel in axes]
    assert shown == [False, True, True, True]


def test_caption_has_the_shares(make_run: MakeRun) -> None:
    leaning = table(1.0, 0.2)
    drawing = similarity_figure({"vanilla": make_run("vanilla", leaning)})
    share = pair_similarities(leaning).class_first
    assert share is not None and f"vanilla {100 * share:.1f} % (" in drawing.caption
    assert drawing.caption.endswith(f", n = {len(leaning)}).")
    assert "another hue" in drawing.alt


def test_an_attribute_is_needed(make_run: MakeRun) -> None:
    with pytest.raises(NothingToDraw, match="no attribute"):
        similarity_figure({"vanilla": make_run("vanilla", table(1.0, 0.2, attributes=()))})
