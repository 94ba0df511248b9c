"""Distances from one central test image (paper, Fig. 1)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Arc
from matplotlib.ticker import MaxNLocator

from fairflac.metrics.intervals import bootstrap_interval
from fairflac.metrics.representation import distances
from fairflac.reporting.figures.pair_kinds import ATTRIBUTE, CLASS, KINDS, Kind, SharedGallery, pair_kinds
from fairflac.reporting.figures.style import (
    FAINT,
    INK,
    QUERY,
    Drawing,
    NothingToDraw,
    attribute_name,
    bare,
    headline,
    legend,
    panels,
    thumbnail,
)
from fairflac.runs.directory import Run

SHOWN = 7  # images of each kind
HOLE = 0.6  # distance at which others would touch the central image
SIDES = {CLASS: 90.0, ATTRIBUTE: -90.0}  # degrees, clockwise from the top, of the middle of each kind's half


def distances_from_centre(models: Mapping[str, Run], columns: int = 3) -> Drawing:
    """Per model: a central image whose attribute does not go with its class, and others as far out as they are unlike.

    To the right, in red, images of the same class with another attribute; to the left, in blue, images of other
    classes with the same attribute. Arcs mark the median of each side. In a model that ignores the attribute the red
    ones are near and the blue ones far. Features have unit length; the scale is the same for all models.
    """
    gallery = SharedGallery.of(models)
    centre, members = _choose(gallery)
    far = {name: distances(one.features)[centre] for name, one in gallery.tables.items()}
    reach = max(float(values[rows].max()) for values in far.values() for rows in members.values()) or 1.0
    figure, axes = panels(len(models), columns, (4.4, 4.6), extra=0.4)
    for axis, (name, values) in zip(axes, far.items(), strict=True):
        headline(axis, name)
        _panel(axis, gallery, centre, members, values, reach)
    handles = [*(kind.patch() for kind in SIDES), Line2D([], [], color=FAINT, linestyle=":")]
    labels = [*(f"{kind.label} (arc: median)" for kind in SIDES), "distance from the centre"]
    legend(figure, handles, labels, columns=min(columns, len(models)), place="outside lower center")
    attribute = attribute_name(gallery.any_table)
    medians = "; ".join(
        f"{name} {_median(values[members[CLASS]])} and {_median(values[members[ATTRIBUTE]])}"
        for name, values in far.items()
    )
    return Drawing(
        figure,
        f"For {', '.join(models)}: one test image in the middle and others around it, further out the less alike they "
        "are to the model. The caption has the median distances.",
        f"Distance from one test image ({gallery.words[centre]}). Median to images of the same class with another "
        f"{attribute}, and to images of other classes with the same {attribute}: {medians}. In a model that ignores "
        f"the {attribute} the first is the smaller one.",
    )


def _median(far: np.ndarray) -> str:
    low, high = bootstrap_interval(far, np.median)
    return f"{np.median(far):.2f} ({low:.2f}–{high:.2f}, n = {len(far)})"


def _choose(gallery: SharedGallery) -> tuple[int, dict[Kind, np.ndarray]]:
    """The first minority image that has others of both kinds, and all these others."""
    kinds = pair_kinds(gallery.any_table)
    for centre in gallery.minority(len(kinds)):
        members = {kind: np.flatnonzero(kinds[centre] == KINDS.index(kind)) for kind in SIDES}
        if all(map(len, members.values())):
            return int(centre), members
    raise NothingToDraw("no kept test image has both others of its class and others of its attribute")


def _panel(
    axes: Axes, gallery: SharedGallery, centre: int, members: Mapping[Kind, np.ndarray], far: np.ndarray, reach: float
) -> None:
    bare(axes)
    rings = [ring for ring in MaxNLocator(3).tick_values(0, reach) if ring <= reach]
    for ring in rings:
        out = HOLE + ring / reach
        axes.add_patch(Arc((0, 0), 2 * out, 2 * out, color=FAINT, linewidth=0.7, linestyle=":"))
        axes.text(0, -out - 0.02, f"{ring:g}", fontsize=8, color=INK, ha="center", va="top")
    for kind, rows in members.items():
        middle = SIDES[kind]
        radius = HOLE + float(np.median(far[rows])) / reach
        span = (90 - middle - 84, 90 - middle + 84)  # matplotlib counts against the clock from the right
        axes.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta1=span[0], theta2=span[1], color=kind.colour, lw=1.6))
        shown = rows[np.linspace(0, len(rows) - 1, min(SHOWN, len(rows))).round().astype(int)]
        for row, angle in zip(shown, np.radians(middle + np.linspace(-66, 66, len(shown))), strict=True):
            out = HOLE + far[row] / reach
            place = (out * np.sin(angle), out * np.cos(angle))
            thumbnail(axes, gallery.images[row], place, 0.27, kind.colour, kind.stroke, layer=3 - out / 2)
    thumbnail(axes, gallery.images[centre], (0, 0), 0.4, QUERY, layer=4)
    axes.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), aspect="equal")
