"""A map of the features: images that a model takes for alike lie close together."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like
from matplotlib.lines import Line2D
from sklearn.manifold import TSNE

from fairflac.metrics import Measured
from fairflac.metrics.intervals import share_interval
from fairflac.metrics.representation import nearest, nearest_of, subsample, unit_length
from fairflac.reporting.figures.style import (
    FAINT,
    INK,
    VALUES,
    Drawing,
    NothingToDraw,
    bare,
    class_names,
    headline,
    panels,
    short,
    value_names,
)
from fairflac.reporting.text import with_range
from fairflac.runs.directory import Run

MOST_POINTS = 500
STEPS = 500  # half of what is usual; from a good start the rest hardly moves a point
ENOUGH = 50  # different points; for fewer a t-SNE has no neighbourhoods to keep
MARKS = "osD^v<>PX*"  # as many as colours: either is enough to tell values apart


class Colouring(NamedTuple):
    """One panel's colours."""

    title: str
    values: np.ndarray
    names: list[str]


def feature_maps(models: Mapping[str, Run]) -> Drawing:
    """A row per model: the same points coloured by class, then by each known attribute.

    In a model that ignores the attribute, points gather by class, and each gathering holds all values of the
    attribute. Distances across the map mean nothing; which points lie together does. Features have unit length.
    """
    tables = {name: run.predictions for name, run in models.items()}
    tables = {name: table.take(subsample(len(table), MOST_POINTS)) for name, table in tables.items()}
    if min(len(table) for table in tables.values()) < 3:
        raise NothingToDraw("there are fewer than three test images")
    colourings = {name: _colourings(models[name], table.y, table.bias) for name, table in tables.items()}
    columns = max(len(found) for found in colourings.values())
    figure, axes = panels(columns * len(models), columns, (4.6, 3.3))
    for number, (name, table) in enumerate(tables.items()):
        places = flat(table.features)
        line = axes[number * columns : (number + 1) * columns]
        for axis, colouring in zip(line, colourings[name], strict=False):
            _panel(axis, f"{name}: {colouring.title}", places, colouring)
        for empty in line[len(colourings[name]) :]:
            empty.set_visible(False)
    numbers = "; ".join(nearest_shares(name, table.features, colourings[name]) for name, table in tables.items())
    return Drawing(
        figure,
        f"Maps of the features of {', '.join(models)}, a point per test image, coloured by class and by attribute. The "
        "caption has how often nearest points agree.",
        "Each point is a test image; the model takes near ones for alike. An image and the one nearest to it (in the "
        f"features themselves) have in common: {numbers}.",
    )


def flat(features: np.ndarray) -> np.ndarray:
    """(N, 2): a t-SNE that starts from the principal plane, or that plane where points are few. Always the same."""
    unit = unit_length(features)
    plane = _principal(unit)
    if len(np.unique(unit.round(6), axis=0)) < ENOUGH or not plane[:, 1].any():
        return plane
    start = plane / plane[:, 0].std() * 1e-4  # small, as its authors advise: the shape unfolds from there
    perplexity = 30 if len(unit) > 100 else 15
    moved: np.ndarray = TSNE(perplexity=perplexity, init=start, max_iter=STEPS, random_state=0).fit_transform(unit)
    return moved


ANCHORS = 3  # between which an image is placed
APART = 0.008  # of the map's width: images that are alike do not hide each other


def places(features: np.ndarray) -> np.ndarray:
    """(N, 2): `flat` of some images, and all others between those that are most alike to them."""
    chosen = subsample(len(features), MOST_POINTS)
    anchors = flat(features[chosen])
    if len(chosen) == len(features):
        return anchors
    near, far = nearest_of(features, features[chosen], ANCHORS)
    weights = 1 / (far + 1e-6)
    found: np.ndarray = (weights[..., None] * anchors[near]).sum(1) / weights.sum(1, keepdims=True)
    found += APART * np.ptp(anchors, axis=0) * np.random.default_rng(0).normal(size=found.shape)
    found[chosen] = anchors
    return found


def _principal(unit: np.ndarray) -> np.ndarray:
    left, sizes, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    sizes[sizes < 1e-9] = 0
    plane = (left * sizes)[:, :2]
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))


def _colourings(run: Run, y: np.ndarray, bias: Mapping[str, np.ndarray]) -> list[Colouring]:
    found = [Colouring("class", y, class_names(run, y))]
    for attribute, values in bias.items():
        found.append(Colouring(short(attribute.replace("_", " ")), values, value_names(run, attribute, values)))
    return found


def _panel(axes: Axes, title: str, places: np.ndarray, colouring: Colouring) -> None:
    bare(axes)
    headline(axes, title)
    counts = np.bincount(colouring.values, minlength=len(colouring.names))
    present = np.flatnonzero(counts)
    named = np.sort(present[np.argsort(-counts[present], kind="stable")][: len(VALUES)])
    # Values that are names of colours, as those of digits on coloured grounds, are drawn in them.
    words = [colouring.names[value] for value in named]
    colours = words if all(map(is_color_like, words)) else VALUES
    handles = []
    others = ~np.isin(colouring.values, named)
    if others.any():
        axes.scatter(places[others, 0], places[others, 1], s=8, color=FAINT, marker=".", linewidths=0)
    for number, value in enumerate(named):
        style: dict[str, Any] = {"color": colours[number], "marker": MARKS[number]}
        points = places[colouring.values == value]
        axes.scatter(points[:, 0], points[:, 1], s=13, alpha=0.8, linewidths=0.15, edgecolors=INK, **style)
        handles.append(Line2D([], [], linestyle="", markersize=5, markeredgewidth=0.25, markeredgecolor=INK, **style))
    if others.any():
        handles.append(Line2D([], [], linestyle="", markersize=5, color=FAINT, marker="."))
        words.append(f"{len(present) - len(named)} others")
    box = axes.legend(
        handles, ["-"] * len(words), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8
    )
    for text, word in zip(box.get_texts(), words, strict=True):
        text.set(text=word, color=INK, parse_math=False)


def nearest_shares(name: str, features: np.ndarray, colourings: list[Colouring]) -> str:
    """How often an image and the one nearest to it have the same value, among as many as a map is made of."""
    some = subsample(len(features), MOST_POINTS)
    closest = nearest(features[some], 1)[:, 0]
    shares = {one.title: float((one.values[some] == one.values[some][closest]).mean()) for one in colourings}
    n = len(some)
    numbers = {title: Measured(share, *share_interval(share, n), n) for title, share in shares.items()}
    return f"{name} " + ", ".join(f"{title} {with_range(one)}" for title, one in numbers.items())
