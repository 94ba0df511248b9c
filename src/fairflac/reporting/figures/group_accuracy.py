"""Accuracy of every group, a group being one class with one value of the attribute."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from fairflac.metrics import Measured, count
from fairflac.metrics.groups import SMALL
from fairflac.metrics.intervals import share_interval
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures.style import (
    FAINT,
    INK,
    Drawing,
    NothingToDraw,
    class_names,
    headline,
    panels,
    readable_on,
    short,
    value_names,
)
from fairflac.reporting.text import with_range
from fairflac.runs.directory import Run

MOST_WRITTEN = 20  # classes or values; numbers in smaller cells could not be read
WIDEST = 14.0  # inches
COLOURS = matplotlib.colormaps["cividis"]  # made to look the same to colour-blind people


class Groups(NamedTuple):
    """(C, K): images, and the share of them that is named rightly, NaN where there is none."""

    n: np.ndarray
    accuracy: np.ndarray


class Panel(NamedTuple):
    """One model and one attribute."""

    title: str
    groups: Groups
    classes: list[str]
    values: list[str]

    @property
    def lowest(self) -> str:
        """The group with the lowest accuracy, in words, or how many share it."""
        share = float(np.nanmin(self.groups.accuracy))
        groups = np.argwhere(self.groups.accuracy == share)
        if len(groups) > 1:
            largest = _range(share, int(self.groups.n[tuple(groups.T)].max()))
            all_groups = np.count_nonzero(self.groups.n)
            return f"{self.title} {largest} in {len(groups)} of {all_groups} groups, in brackets the largest of them"
        row, column = groups[0]
        number = _range(share, int(self.groups.n[row, column]))
        return f"{self.title} {number}, {self.classes[row]} with {self.values[column]}"


def group_accuracies(models: Mapping[str, Run], columns: int | None = None) -> Drawing:
    """A map per model: rows are classes, columns values of the attribute, light is right and dark is wrong.

    A model that leans on the attribute is light only where the two go together, often on the diagonal. Each cell has
    its accuracy and the number of its images; `*` marks groups of fewer than 30 images, grey ones have none.
    """
    drawn = [panel for name, run in models.items() for panel in _panels(name, run)]
    if not drawn:
        raise NothingToDraw("no attribute of the test images is known, so there are no groups")
    rows, values = (max(panel.groups.n.shape[axis] for panel in drawn) for axis in (0, 1))
    written = max(rows, values) <= MOST_WRITTEN
    size = (_inches(values, 0.55) + 1.4, _inches(rows, 0.42) + 1.2)
    figure, axes = panels(len(drawn), columns or max(1, int(WIDEST // size[0])), size, extra=0.9)
    for axis, panel in zip(axes, drawn, strict=True):
        image = _map(axis, panel, written=written)
    _scale(figure, image, axes)
    small = any(((panel.groups.n > 0) & (panel.groups.n < SMALL)).any() for panel in drawn)
    if small and written:
        figure.supxlabel(f"* fewer than {SMALL} images: an uncertain number", fontsize=9, color=INK)
    lowest = "; ".join(panel.lowest for panel in drawn)
    return Drawing(
        figure,
        f"A map of {rows} classes by {values} values for each of {', '.join(models)}: the share of images of each "
        "group that is named rightly. The caption has the lowest.",
        "Accuracy of each group, one class with one value of the attribute; light is right, dark is wrong. The lowest: "
        f"{lowest}." + (f" Groups of fewer than {SMALL} images are uncertain." if small else ""),
    )


def _panels(name: str, run: Run) -> list[Panel]:
    table = run.predictions
    classes = class_names(run, table.y)
    found = []
    for attribute, column in table.bias.items():
        values = value_names(run, attribute, column)
        title = name if len(table.bias) == 1 else f"{name}, {short(attribute.replace('_', ' '))}"
        groups = _groups(table, attribute, len(classes), len(values))
        found.append(Panel(title, groups, classes, values))
    return found


def _groups(table: Predictions, attribute: str, classes: int, values: int) -> Groups:
    """The counts, in a map that has room for values without images."""
    counts, present = count(table, attribute), np.unique(table.bias[attribute])
    n, right = np.zeros((2, classes, values), dtype=np.int64)
    for whole, found in ((n, counts.per_group), (right, counts.right)):
        whole[:, present] = found[:classes]
    return Groups(n, np.where(n > 0, right / np.maximum(n, 1), np.nan))


def _range(share: float, n: int) -> str:
    return with_range(Measured(share, *share_interval(share, n), n))


def _inches(cells: int, one: float) -> float:
    """Cells are as large as their numbers need, until numbers are left out."""
    return max(1.4, cells * one) if cells <= MOST_WRITTEN else min(7.0, max(4.0, 0.1 * cells))


def _map(axes: Axes, panel: Panel, *, written: bool) -> AxesImage:
    image = axes.imshow(panel.groups.accuracy, cmap=COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_facecolor("#d8dee4")  # a group without images
    for set_ticks, names, turn in ((axes.set_yticks, panel.classes, 0), (axes.set_xticks, panel.values, 45)):
        step = -(-len(names) // 25)
        style: dict[str, Any] = {"rotation": turn, "ha": "right", "rotation_mode": "anchor"} if turn else {}
        set_ticks(range(0, len(names), step), names[::step], fontsize=8, color=INK, parse_math=False, **style)
    axes.tick_params(color=FAINT)
    axes.spines[:].set_visible(False)
    headline(axes, panel.title)
    if written:
        for place in np.ndindex(panel.groups.n.shape):
            _write(axes, place, int(panel.groups.n[place]), float(panel.groups.accuracy[place]))
    return image


def _scale(figure: Figure, image: AxesImage, axes: list[Axes]) -> None:
    width = min(1.0, 3.0 / figure.get_figwidth())
    bar = figure.colorbar(image, ax=axes, location="top", shrink=width, aspect=20, ticks=[0, 0.5, 1])
    bar.ax.set_xticks([0, 0.5, 1], ["0 %", "accuracy", "100 %"], fontsize=9, color=INK)
    bar.outline.set_visible(False)


def _write(axes: Axes, place: tuple[int, ...], n: int, accuracy: float) -> None:
    row, column = place
    if n:
        text = f"{100 * accuracy:.0f} %{'*' if n < SMALL else ''}\nn = {n}"
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color=readable_on(COLOURS(accuracy)))
