"""What all figures promise: the same bytes again, and any name as it is."""

from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread
from matplotlib.lines import Line2D

from fairflac.reporting.figures.pairs import similarity_distributions
from fairflac.reporting.figures.style import GROUND, INK, legend, panels, png, readable_on, svg
from reporting.hand_made import table


def test_same_figure_same_bytes() -> None:
    first, second = (similarity_distributions({"$x_1$ & <b>": table(1.0, 0.5)}) for _ in range(2))
    assert svg(first) == svg(second)
    assert png(first) == png(second)
    assert png(first).startswith(b"\x89PNG")
    assert ElementTree.fromstring(svg(first)).tag.endswith("svg")


def test_legend_shows_names_as_they_are() -> None:
    names = ["_hidden", r"$\frac$", "日"]  # left out by matplotlib, broken as math, not in the font
    figure, _ = panels(1, 1, (3, 3))
    legend(figure, [Line2D([], [])] * 3, names, columns=1, loc="outside upper center")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == names
    assert png(figure) and svg(figure)


def test_ground_is_light_whatever_the_page() -> None:
    from io import BytesIO

    figure, _ = panels(1, 1, (2, 2))
    corner = imread(BytesIO(png(figure)))[0, 0]
    np.testing.assert_array_equal(corner, [1, 1, 1, 1])


@pytest.mark.parametrize(("colour", "ink"), [((1, 1, 0.2), INK), ((0, 0.1, 0.3), GROUND)])
def test_numbers_stand_out_from_their_cell(colour: tuple[float, float, float], ink: str) -> None:
    assert readable_on(colour) == ink
