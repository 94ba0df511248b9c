"""What all figures have in common: a light ground of their own for any page theme, ink, safe names, bytes that repeat.

They are drawn without pyplot: no window, no global state.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Literal, NamedTuple

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fairflac.errors import UserError
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.naming import Names, known_attribute
from fairflac.runs.directory import Run


class Drawing(NamedTuple):
    """A figure with its words."""

    figure: Figure
    alt: str  # what is to be seen, for those who cannot see it
    caption: str  # how to read it, with its key numbers


class NothingToDraw(UserError):
    """A figure does not apply to these runs; the message says what is missing."""


GROUND, INK, FAINT = "#ffffff", "#1f2328", "#8c959f"
SAME_CLASS, SAME_ATTRIBUTE = "#c8281e", "#1f5fbf"  # red and blue, as in the paper
QUERY = "#009e73"  # the green of the paper's Fig. 4, in a shade that is no red to anyone
# Okabe and Ito's colours without yellow, which is too pale for a light ground.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1f2328")
LONGEST_TITLE = 36  # letters above a panel
RESOLUTION = 200  # dots per inch: sharp on a screen with two pixels to the point


# Paul Tol's muted colours and ink: ten that anyone can tell apart.
VALUES = (
    *("#332288", "#88ccee", "#44aa99", "#117733", "#999933", "#ddcc77", "#cc6677", "#882255", "#aa4499"),
    INK,
)
LegendLocation = Literal["outside upper center", "outside lower center"]


def new_figure(width: float, height: float) -> Figure:
    """In inches."""
    figure = Figure(figsize=(width, height), facecolor=GROUND, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)  # type: ignore[union-attr, call-arg]
    return figure


def panels(
    count: int, columns: int, size: tuple[float, float], *, extra: float = 0.0, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with lines of panels, each `size` inches; `extra` inches of height are for legends."""
    columns = max(1, min(columns, count))
    lines = -(-count // columns)
    figure = new_figure(size[0] * columns, size[1] * lines + extra)
    axes = list(figure.subplots(lines, columns, sharex=share, sharey=share, squeeze=False).ravel())
    for empty in axes[count:]:
        empty.set_visible(False)
    for lowest in axes[max(0, count - columns) : count]:
        lowest.tick_params(labelbottom=True)  # also above an empty place, where shared axes would hide them
    return figure, axes[:count]


def tidy(axes: Axes, title: str | None = None) -> None:
    """The look of a panel with two axes."""
    if title is not None:
        headline(axes, title)
    axes.set_facecolor(GROUND)
    axes.tick_params(colors=INK, labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[:].set_color(FAINT)


def bare(axes: Axes) -> None:
    """A panel without axes: only what is drawn in it."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def headline(axes: Axes, title: str) -> None:
    # No math: a name may hold a $.
    axes.set_title(short(title, LONGEST_TITLE), fontsize=11, color=INK, fontweight="bold", parse_math=False)


def legend(
    figure: Figure, handles: Sequence[Artist], names: Sequence[str], *, columns: int, loc: LegendLocation
) -> None:
    """Outside the panels. Names are set afterwards: matplotlib leaves out those that begin with an underscore."""
    drawn = figure.legend(list(handles), ["-"] * len(names), loc=loc, ncols=columns, frameon=False, fontsize=9)
    for text, name in zip(drawn.get_texts(), names, strict=True):
        text.set(text=name, color=INK, parse_math=False)


def readable_on(colour: Sequence[float]) -> str:
    """Ink or ground, whichever stands out from a colour (red, green, blue, …)."""
    return INK if np.dot(colour[:3], (0.299, 0.587, 0.114)) > 0.5 else GROUND


def png(figure: Figure, resolution: float = RESOLUTION) -> bytes:
    """The same figure gives the same bytes."""
    stream = BytesIO()
    with _any_letter():
        figure.savefig(stream, format="png", dpi=resolution, metadata={"Software": None})
    return stream.getvalue()


def svg(figure: Figure) -> bytes:
    """Lines as lines, letters as outlines, images with the resolution of the PNG."""
    stream = BytesIO()
    with _any_letter(), matplotlib.rc_context({"svg.hashsalt": "fairflac"}):  # without it, ids in the file are random
        figure.savefig(stream, format="svg", dpi=RESOLUTION, metadata={"Date": None})
    return stream.getvalue()


@contextmanager
def _any_letter() -> Iterator[None]:
    """A letter that the font lacks is drawn as a box; a warning for each would say no more."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


LONGEST = 18
MODEL = 28  # a method and a run id


def short(name: object, longest: int = LONGEST) -> str:
    """On one line, without what cannot be printed, cut where it is too long."""
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in str(name)).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def attribute_name(table: Predictions) -> str:
    """The known attribute in a sentence."""
    return short(known_attribute(table) or "attribute", 2 * LONGEST)


def class_names(run: Run, y: np.ndarray) -> list[str]:
    """One name per class, as many as there are classes."""
    names = Names.of(run.result)
    return _shown([names.of_class(place) for place in range(_count(y, names.classes))], "class ")


def value_names(run: Run, attribute: str, values: np.ndarray) -> list[str]:
    """One name per value of an attribute."""
    names = Names.of(run.result)
    count = _count(values, names.values.get(attribute, []))
    prefix = short(attribute.replace("_", " "), 10) + " "
    return _shown([names.of_value(attribute, place) for place in range(count)], prefix)


def _count(values: np.ndarray, known: Sequence[str]) -> int:
    return max(int(values.max(initial=-1)) + 1, len(known))


def _shown(names: Sequence[str], prefix: str) -> list[str]:
    """A name that is a number alone says nothing beside another axis of numbers."""
    return [prefix + name if (name := short(full)).isdecimal() else name for full in names]


GAP = 0.09  # of the side, white between image and frame, so that a frame shows around an image of any colour


def thumbnail(
    axes: Axes,
    image: np.ndarray,  # (H, W, 3)
    centre: tuple[float, float],
    side: float,  # of the square it fits in, in units of the axes
    colour: str,
    stroke: str = "-",
    layer: float = 1,  # higher ones cover lower ones
) -> None:
    """The image keeps its shape; the frame has a white ground."""
    x, y = centre
    height, width = image.shape[:2]
    right, up = (side / 2 - GAP * side) * np.array([width, height]) / max(width, height)
    corner = (x - side / 2, y - side / 2)
    axes.add_patch(
        Rectangle(corner, side, side, facecolor="white", edgecolor=colour, linestyle=stroke, lw=1.7, zorder=layer)
    )
    axes.imshow(image, extent=(x - right, x + right, y - up, y + up), zorder=layer + 0.1)
