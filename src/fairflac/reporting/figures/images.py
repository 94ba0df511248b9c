"""Figures made of images: training samples, and what is near to a test image (paper, Fig. 1 and 4), by kind of pair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Arc, Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from fairflac.metrics import Measured
from fairflac.metrics.intervals import bootstrap_interval, clopper_pearson_if_constant
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import NEAREST, distances, nearest
from fairflac.reporting.figures.style import (
    FAINT,
    GROUND,
    INK,
    MODEL,
    QUERY,
    SAME_ATTRIBUTE,
    SAME_CLASS,
    Drawing,
    NothingToDraw,
    attribute_name,
    bare,
    class_names,
    headline,
    legend,
    new_figure,
    panels,
    short,
    thumbnail,
    value_names,
)
from fairflac.reporting.text import with_range
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery, Samples

Stroke = Literal["-", "--", ":"]


class PairKind(NamedTuple):
    """Colour and stroke both tell kinds apart."""

    label: str
    colour: str
    stroke: Stroke

    def patch(self) -> Patch:
        """For a legend."""
        return Patch(facecolor="none", edgecolor=self.colour, linestyle=self.stroke, linewidth=2)


NEITHER = PairKind("other class, other attribute", FAINT, ":")  # A00
ATTRIBUTE = PairKind("same attribute, other class", SAME_ATTRIBUTE, "--")  # A01
CLASS = PairKind("same class, other attribute", SAME_CLASS, "-")  # A10
BOTH = PairKind("same class, same attribute", INK, "-")  # A11
KINDS = (NEITHER, ATTRIBUTE, CLASS, BOTH)


def pair_kinds(table: Predictions) -> np.ndarray:
    """(N, N) places in KINDS."""
    kinds: np.ndarray = 2 * (table.y[:, None] == table.y) + same_attribute(table)
    return kinds


@dataclass(frozen=True)
class SharedGallery:
    """M images that are the same in every run, with a known attribute."""

    images: np.ndarray  # (M, H, W, 3) uint8
    tables: dict[str, Predictions]  # per model, M rows
    captions: list[str]  # class and attribute values of each image

    @property
    def any_table(self) -> Predictions:
        """For what is the same in all of them: classes and attributes."""
        return next(iter(self.tables.values()))

    @classmethod
    def of(cls, models: Mapping[str, Run]) -> "SharedGallery":
        """Runs need the same test split; each adds its own mistakes to the images that all keep."""
        missing = [name for name, run in models.items() if not run.gallery.exists()]
        if missing:
            raise NothingToDraw(f"{', '.join(missing)} kept no test images: trained before runs had a gallery.npz")
        tables = {name: run.predictions for name, run in models.items()}
        if not all(table.bias for table in tables.values()):
            raise NothingToDraw("no attribute of the test images is known")
        galleries = [Gallery.load(run.gallery, len(tables[name])) for name, run in models.items()]
        index, images = galleries[0].index, galleries[0].images
        for other in galleries[1:]:
            both, mine, its = np.intersect1d(index, other.index, return_indices=True)
            alike = np.array([np.array_equal(images[i], other.images[j]) for i, j in zip(mine, its, strict=True)], bool)
            index, images = both[alike], images[mine[alike]]
        if len(index) < 2:
            raise NothingToDraw("these models were tested on different images")
        some = {name: table.take(np.searchsorted(table.index, index)) for name, table in tables.items()}
        return cls(images, some, _captions(next(iter(models.values())), next(iter(some.values()))))

    def minority(self, count: int) -> np.ndarray:
        """Up to `count` images whose attribute does not go with their class: drawn blindly, of different classes first.

        No model has a say in it, so that none is shown at its best.
        """
        table = self.any_table
        rows = np.random.default_rng(0).permutation(len(table))
        rows = rows[conflicting(table)[rows]]
        if not len(rows):
            raise NothingToDraw("no kept test image has an attribute that does not go with its class")
        turn = np.array([np.count_nonzero(table.y[rows[:place]] == table.y[row]) for place, row in enumerate(rows)])
        chosen: np.ndarray = rows[np.argsort(turn, kind="stable")][:count]
        return chosen


def _captions(run: Run, table: Predictions) -> list[str]:
    columns = [np.array(class_names(run, table.y))[table.y]]
    columns += [np.array(value_names(run, name, values))[values] for name, values in table.bias.items()]
    return [", ".join(words) for words in zip(*columns, strict=True)]


def same_attribute(table: Predictions) -> np.ndarray:
    """(N, N): do two images have the same value? Several attributes: the same in all of them."""
    same = np.ones((len(table), len(table)), dtype=bool)
    for values in table.bias.values():
        same &= values[:, None] == values
    return same


def conflicting(table: Predictions) -> np.ndarray:
    """(N,): does the value of some attribute not go with the class?"""
    found = np.zeros(len(table), dtype=bool)
    for goes_together in table.aligned.values():
        found |= ~goes_together
    return found


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
        _centre_panel(axis, gallery, centre, members, values, reach)
    handles = [*(kind.patch() for kind in SIDES), Line2D([], [], color=FAINT, linestyle=":")]
    labels = [*(f"{kind.label} (arc: median)" for kind in SIDES), "distance from the centre"]
    legend(figure, handles, labels, columns=min(columns, len(models)), loc="outside lower center")
    attribute = attribute_name(gallery.any_table)
    medians = "; ".join(
        f"{name} {_median(values[members[CLASS]])} and {_median(values[members[ATTRIBUTE]])}"
        for name, values in far.items()
    )
    return Drawing(
        figure,
        f"For {', '.join(models)}: one test image in the middle and others around it, further out the less alike they "
        "are to the model. The caption has the median distances.",
        f"Distance from one test image ({gallery.captions[centre]}). Median to images of the same class with another "
        f"{attribute}, and to images of other classes with the same {attribute}: {medians}. In a model that ignores "
        f"the {attribute} the first is the smaller one.",
    )


def _median(far: np.ndarray) -> str:
    low, high = bootstrap_interval(far, np.median)
    return f"{np.median(far):.2f} ({low:.2f}–{high:.2f}, n = {len(far)})"


def _choose(gallery: SharedGallery) -> tuple[int, dict[PairKind, np.ndarray]]:
    """The first minority image that has others of both kinds, and all these others."""
    kinds = pair_kinds(gallery.any_table)
    for centre in gallery.minority(len(kinds)):
        members = {kind: np.flatnonzero(kinds[centre] == KINDS.index(kind)) for kind in SIDES}
        if all(map(len, members.values())):
            return int(centre), members
    raise NothingToDraw("no kept test image has both others of its class and others of its attribute")


def _centre_panel(
    axes: Axes,
    gallery: SharedGallery,
    centre: int,
    members: Mapping[PairKind, np.ndarray],
    far: np.ndarray,
    reach: float,
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


QUERIES = 3
SIDE = 0.9  # of an image, in a grid of unit cells


def nearest_neighbours(models: Mapping[str, Run], queries: int = QUERIES, count: int = NEAREST) -> Drawing:
    """Per query image, whose attribute does not go with its class, a row per model: its nearest test images.

    A frame says what a neighbour shares with the query. A model that ignores the attribute puts images of the same
    class nearest: red and black frames. A model that leans on it puts images with the same attribute there: blue
    and black ones. Queries and candidates are the test images that every run keeps, of all groups alike.
    """
    gallery = SharedGallery.of(models)
    chosen = gallery.minority(queries)
    found = {name: nearest(table.features, count) for name, table in gallery.tables.items()}
    count = found[next(iter(models))].shape[1]
    rows = [(query, name) for query in chosen for name in models]
    figure = _grid(gallery, rows, found, len(models))
    attribute, queried = attribute_name(gallery.any_table), int(conflicting(gallery.any_table).sum())
    numbers = "; ".join(_numbers(name, table, found[name], attribute) for name, table in gallery.tables.items())
    return Drawing(
        figure,
        f"For {len(chosen)} test images, each with its {count} nearest ones under {', '.join(models)}, framed by "
        "what they share with it. The caption has the shares over all such images.",
        f"Nearest test images of images whose {attribute} does not go with their class. Over all {queried} "
        f"such images kept with the runs, of the {count} nearest: {numbers}.",
    )


def _numbers(name: str, table: Predictions, found: np.ndarray, attribute: str) -> str:
    queries = np.flatnonzero(conflicting(table))
    kinds = pair_kinds(table)[queries[:, None], found[queries]]
    by_class, by_attribute = (_mean_share(shared.mean(axis=1)) for shared in (kinds >= 2, kinds % 2 == 1))
    return f"{name} {by_class} of the same class, {by_attribute} of the same {attribute}"


def _mean_share(of_each: np.ndarray) -> str:
    """The mean over the queries."""
    mean = float(of_each.mean())
    return with_range(
        Measured(mean, *clopper_pearson_if_constant(mean, bootstrap_interval(of_each), len(of_each)), len(of_each))
    )


def _grid(gallery: SharedGallery, rows: list[tuple[int, str]], found: Mapping[str, np.ndarray], models: int) -> Figure:
    kinds = pair_kinds(gallery.any_table)
    count = next(iter(found.values())).shape[1]
    width, height = count + 1.4, len(rows) + 0.5 * (len(rows) // models)  # a line of words above each query
    words = [short(name, MODEL) for _, name in rows]
    figure = new_figure(0.62 * width + 0.4 + 0.09 * max(map(len, words)), 0.62 * height + 0.75)
    axes = figure.add_subplot()
    bare(axes)
    places = []
    for number, (query, name) in enumerate(rows):
        y = number + 0.5 * (number // models + 1) + 0.5
        places.append(y)
        if number % models == 0:
            axes.text(
                0, y - 0.62, f"query: {gallery.captions[query]}", fontsize=9, color=INK, va="center", parse_math=False
            )
        thumbnail(axes, gallery.images[query][::-1], (0.5, y), SIDE, QUERY)
        for column, other in enumerate(found[name][query]):
            kind = KINDS[kinds[query, other]]
            thumbnail(axes, gallery.images[other][::-1], (column + 1.9, y), SIDE, kind.colour, kind.stroke)
    axes.set(xlim=(-0.05, width + 0.05), ylim=(height + 0.05, -0.05), aspect="equal")
    axes.set_yticks(places, words, color=INK, fontsize=9, parse_math=False)
    axes.tick_params(length=0)
    handles = [Patch(facecolor="none", edgecolor=QUERY, linewidth=2), *(kind.patch() for kind in reversed(KINDS))]
    names = ["query", *(kind.label for kind in reversed(KINDS))]
    legend(figure, handles, names, columns=3, loc="outside lower center")
    return figure


def sample_grid(samples: Samples, names: Sequence[str]) -> Figure:
    """A row of images per class, beside its name; those whose attribute does not go with it stand in a black frame."""
    classes = np.unique(samples.y)
    most = max((int((samples.y == label).sum()) for label in classes), default=1)
    legend = 0.4 if samples.conflicting.any() else 0.0  # inches
    rows = [names[label] for label in classes]
    left = 0.2 + 0.08 * max(map(len, rows), default=0)  # inches, for the names
    figure = Figure(figsize=(left + 0.62 * most, 0.62 * len(classes) + legend), facecolor=GROUND, layout="constrained")
    axes = figure.add_subplot()
    for place, label in enumerate(classes):
        for column, sample in enumerate(np.flatnonzero(samples.y == label)):
            _image(axes, samples.images[sample], column, place, framed=bool(samples.conflicting[sample]))
    bare(axes)
    axes.set(xlim=(-0.06, most + 0.06), ylim=(len(classes) + 0.06, -0.06), aspect="equal")
    axes.set_yticks(np.arange(len(classes)) + 0.5, rows, color=INK, fontsize=9, parse_math=False)
    axes.tick_params(length=0)
    if legend:
        frame = Patch(facecolor="none", edgecolor=INK, linewidth=1.6, label="attribute does not go with the class")
        figure.legend(handles=[frame], loc="outside lower center", frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _image(axes: Axes, image: np.ndarray, column: int, place: int, *, framed: bool) -> None:
    edge = 0.12  # white between image and frame, so that a frame shows around an image of any colour
    axes.imshow(image, extent=(column + edge, column + 1 - edge, place + 1 - edge, place + edge))
    if framed:
        axes.add_patch(Rectangle((column + 0.06, place + 0.06), 0.88, 0.88, fill=False, edgecolor=INK, linewidth=1.6))
