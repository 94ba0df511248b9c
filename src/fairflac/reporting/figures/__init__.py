"""All figures by name: those of the models of one dataset, and those of runs of any data."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fairflac.errors import UserError
from fairflac.reporting.figures.curves import training_curves
from fairflac.reporting.figures.feature_map import feature_maps
from fairflac.reporting.figures.group_accuracy import group_accuracies
from fairflac.reporting.figures.images import distances_from_centre, nearest_neighbours
from fairflac.reporting.figures.pairs import pairs_per_batch, similarity_figure
from fairflac.reporting.figures.style import Drawing, NothingToDraw, png, svg
from fairflac.reporting.results import by_data, models
from fairflac.runs.directory import Run
from fairflac.system.files import replacing


@dataclass(frozen=True)
class FigureKind:
    """A figure, and all that is said of it anywhere."""

    name: str  # in the command line and of its files
    draw: Callable[[Mapping[str, Run]], Drawing]
    title: str | None = None  # on a page; None: it is no plain figure of a page
    as_png: bool = False  # there: images and many marks are smaller so
    of_models: bool = True  # of one dataset; if not, it takes all runs, by their paths


# In the order of a page.
FIGURES = (
    FigureKind("group-accuracy", group_accuracies, "How every group fares", as_png=True),
    FigureKind("similarities", similarity_figure),
    FigureKind("distances-from-centre", distances_from_centre, "What is near to one image", as_png=True),
    FigureKind("nearest-neighbours", nearest_neighbours),
    FigureKind("feature-map", feature_maps),
    FigureKind("training-curves", training_curves, "How training went"),
    FigureKind(
        "pairs-per-batch",
        lambda runs: pairs_per_batch(list(runs.values())),
        "How many pairs FLAC learns from",
        of_models=False,
    ),
)
NAMES = tuple(figure.name for figure in FIGURES)

Draw = Callable[[], Drawing]


def drawings(runs: Sequence[Run], names: Sequence[str] = NAMES) -> Iterator[tuple[str, str | None, Draw]]:
    """The name of each figure, the data it is of (None: of all runs), and the function that draws it."""
    by_name = {figure.name: figure for figure in FIGURES}
    wanted = [by_name[name] for name in names]
    for data, members in by_data(runs).items():
        compared = sorted(models(members), key=lambda model: model.method != "vanilla")  # what all others stand beside
        named = {model.name: model.run for model in compared}
        yield from ((one.name, data, partial(one.draw, named)) for one in wanted if one.of_models)
    every = {str(run.path): run for run in runs}
    yield from ((one.name, None, partial(one.draw, every)) for one in wanted if not one.of_models)


LONGEST = 60  # letters of a dataset and its options in the name of a file


def save_figures(runs: Sequence[Run], folder: Path, only: Sequence[str] = ()) -> Iterator[str]:
    """Draw each as PNG and SVG; one line for each file, or for why there is none. At least one must come out."""
    parts = by_data(runs)
    if not parts:
        raise UserError("there is nothing to draw: none of these runs is a model of the classes")
    ends = dict(zip(parts, _endings(list(parts)), strict=True))
    written, reason = 0, ""
    for name, data, draw in drawings(runs, only or NAMES):
        stem = name + (ends[data] if data else "")
        try:
            drawing = draw()
        except NothingToDraw as error:
            reason = str(error)
            yield f"{stem}: not drawn, {reason}"
            continue
        for kind, content in (("png", png(drawing.figure)), ("svg", svg(drawing.figure))):
            path = folder / f"{stem}.{kind}"
            with replacing(path) as stream:
                stream.write(content)
            yield str(path)
            written += 1
    if not written:
        raise UserError(f"no figure could be drawn from these runs: {reason}")


def _endings(data: list[str]) -> list[str]:
    """What tells the files of several datasets apart: their names and options, as far as file names can hold them."""
    if len(data) == 1:
        return [""]
    endings: list[str] = []
    for text in data:
        ending = "-" + re.sub(r"[^\w.]+", "-", text).strip("-.")[:LONGEST]
        taken = sum(other == ending or other.startswith(f"{ending}-no") for other in endings)
        endings.append(f"{ending}-no{taken + 1}" if taken else ending)
    return endings
