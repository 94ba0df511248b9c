"""Figures: what is in them, that they are always the same."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from fairflac.report.figures import SAME_ATTRIBUTE, SAME_CLASS, png, sample_grid, similarity_distributions, svg
from report.hand_made import CLASSES, pictures, table


def frames(figure: Figure) -> int:
    return len(figure.axes[0].patches)


def test_grid_frames_the_conflicting_images() -> None:
    samples = pictures()
    figure = sample_grid(samples)
    axes = figure.axes[0]
    assert len(axes.images) == len(samples.y)
    assert frames(figure) == samples.conflicting.sum() == len(figure.legends) * CLASSES
    assert [label.get_text() for label in axes.get_yticklabels()] == ["class 0", "class 1", "class 2", "class 3"]


def test_grid_without_conflicts_has_no_frame_and_no_legend() -> None:
    samples = pictures()
    figure = sample_grid(replace(samples, conflicting=np.zeros(len(samples.y), dtype=bool)))
    assert frames(figure) == 0 and not figure.legends


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


def test_same_figure_same_bytes() -> None:
    first, second = (similarity_distributions({"$x_1$ & <b>": table(1.0, 0.5)}) for _ in range(2))
    assert svg(first) == svg(second)
    assert png(first) == png(second)
    assert png(first).startswith(b"\x89PNG")
    assert ElementTree.fromstring(svg(first)).tag.endswith("svg")
