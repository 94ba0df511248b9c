"""The picture of a model card: how often each class is named rightly, with and against the attribute."""

from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from fairflac.metrics import Measured
from fairflac.metrics.evidence import attribute_gaps
from fairflac.metrics.intervals import share
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures.style import (
    FAINT,
    INK,
    SAME_ATTRIBUTE,
    SAME_CLASS,
    Drawing,
    legend,
    new_figure,
    png,
    short,
    tidy,
)
from fairflac.reporting.naming import Names
from fairflac.reporting.text import with_range

MOST = 20  # classes: of more, those that are named rightly least often
THICK = 0.38  # of the room of a class, for each of two bars
MAKER = "fairflac"  # by which an older picture is known, that may be replaced


class _Kind(NamedTuple):
    """Bars of one colour."""

    label: str
    rows: np.ndarray  # (N,) bool
    colour: str


def card_picture(table: Predictions, names: Names) -> Drawing:
    """A line for each class; two bars where some images of it go with the attribute and some do not."""
    right, kinds = table.prediction == table.y, _kinds(table)
    classes = sorted(np.unique(table.y).tolist(), key=lambda y: float(right[table.y == y].mean()))[:MOST]
    classes.sort()
    thick = THICK if len(kinds) > 1 else 2 * THICK
    figure = new_figure(7.5, 1.3 + 0.2 * len(classes) * len(kinds))
    axes = figure.subplots()
    handles, said = [], []
    for place, kind in enumerate(kinds):
        at, numbers = _bars(table, right, kind, classes)
        offset = (place - (len(kinds) - 1) / 2) * thick
        values = np.array([one.value for one in numbers])
        ends = np.array([[one.value - one.low, one.high - one.value] for one in numbers]).T
        style = {"ecolor": INK, "capsize": 2, "lw": 1}
        handles.append(axes.barh(at + offset, values, thick, color=kind.colour, xerr=ends, error_kw=style))
        said.append(f"{kind.label}: {with_range(share(right[kind.rows]))}")
    axes.axvline(float(right.mean()), color=FAINT, lw=1, ls="--", zorder=0)
    tidy(axes, "Right answers, by class")
    labels = [short(names.of_class(y)) for y in classes]
    axes.set_yticks(range(len(classes)), labels, fontsize=9, color=INK, parse_math=False)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    if len(kinds) > 1:
        legend(
            figure, [one[0] for one in handles], [kind.label for kind in kinds], columns=2, loc="outside lower center"
        )
    few = "" if len(classes) == len(np.unique(table.y)) else f" Of all classes, the {MOST} that it is worst at."
    caption = f"Share of the test images of each class that is named rightly, with 95 % intervals; dashed, of all.{few}"
    alt = f"Bars of {len(classes)} classes: the share of test images that is named rightly. In all, {'; '.join(said)}."
    return Drawing(figure, alt, caption)


def _kinds(table: Predictions) -> list[_Kind]:
    """By the attribute that costs most; all images, where none is known or all of them go with their class."""
    gaps = attribute_gaps(table)
    if not gaps:
        return [_Kind("all test images", np.ones(len(table), dtype=bool), SAME_ATTRIBUTE)]
    name = max(gaps, key=lambda one: gaps[one].value)
    aligned, called = table.aligned[name], f"the {short(name.replace('_', ' '), 30)}"
    return [
        _Kind(f"{called} goes with the class", aligned, SAME_ATTRIBUTE),
        _Kind(f"{called} contradicts the class", ~aligned, SAME_CLASS),
    ]


def _bars(table: Predictions, right: np.ndarray, kind: _Kind, classes: list[int]) -> tuple[np.ndarray, list[Measured]]:
    """Where bars stand, and what they show; a class without such images has none."""
    found = [(place, right[kind.rows & (table.y == y)]) for place, y in enumerate(classes)]
    shown = [(place, share(rows)) for place, rows in found if len(rows)]
    return np.array([place for place, _ in shown], dtype=float), [one for _, one in shown]


def as_png(drawing: Drawing) -> bytes:
    """Marked as ours."""
    note, stream = PngInfo(), BytesIO()
    note.add_text("Software", MAKER)
    with Image.open(BytesIO(png(drawing.figure, 150))) as image:
        image.convert("RGB").quantize(128).save(stream, "png", optimize=True, pnginfo=note)
    return stream.getvalue()
