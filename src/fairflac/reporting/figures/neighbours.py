"""The test images that a model takes for the nearest of a minority image (paper, Fig. 4)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairflac.metrics import Measured
from fairflac.metrics.intervals import bootstrap_interval, clopper_pearson_if_constant
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import NEAREST, nearest
from fairflac.reporting.figures.pair_kinds import KINDS, SharedGallery, conflicting, pair_kinds
from fairflac.reporting.figures.style import (
    INK,
    MODEL,
    QUERY,
    Drawing,
    attribute_name,
    bare,
    legend,
    new_figure,
    short,
    thumbnail,
)
from fairflac.reporting.text.tables import with_range
from fairflac.runs.directory import Run

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
    by_class, by_attribute = (_share(shared.mean(axis=1)) for shared in (kinds >= 2, kinds % 2 == 1))
    return f"{name} {by_class} of the same class, {by_attribute} of the same {attribute}"


def _share(of_each: np.ndarray) -> str:
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
                0, y - 0.62, f"query: {gallery.words[query]}", fontsize=9, color=INK, va="center", parse_math=False
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
    legend(figure, handles, names, columns=3, place="outside lower center")
    return figure
