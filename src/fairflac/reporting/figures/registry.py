"""All figures by name: those of the models of one dataset, and those of runs of any data."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from fairflac.errors import UserError
from fairflac.reporting.figures.centre import distances_from_centre
from fairflac.reporting.figures.curves import training_curves
from fairflac.reporting.figures.feature_map import feature_maps
from fairflac.reporting.figures.group_accuracy import group_accuracies
from fairflac.reporting.figures.neighbours import nearest_neighbours
from fairflac.reporting.figures.pairs_per_batch import pairs_per_batch
from fairflac.reporting.figures.similarity import similarity_figure
from fairflac.reporting.figures.style import Drawing, NothingToDraw, png, svg
from fairflac.reporting.models import by_data, models
from fairflac.runs.directory import Run
from fairflac.system.files import replacing

OF_MODELS: dict[str, Callable[[Mapping[str, Run]], Drawing]] = {
    "group-accuracy": group_accuracies,
    "similarities": similarity_figure,
    "distances-from-centre": distances_from_centre,
    "nearest-neighbours": nearest_neighbours,
    "feature-map": feature_maps,
    "training-curves": training_curves,
}
OF_RUNS: dict[str, Callable[[Sequence[Run]], Drawing]] = {"pairs-per-batch": pairs_per_batch}
NAMES = (*OF_MODELS, *OF_RUNS)

Draw = Callable[[], Drawing]


def drawings(runs: Sequence[Run], names: Sequence[str] = NAMES) -> Iterator[tuple[str, str | None, Draw]]:
    """The name of each figure, the data it is of (None: of all runs), and the function that draws it."""
    for data, members in by_data(runs).items():
        compared = sorted(models(members), key=lambda model: model.method != "vanilla")  # what all others stand beside
        named = {model.name: model.run for model in compared}
        for name in names:
            if name in OF_MODELS:
                yield name, data, partial(OF_MODELS[name], named)
    for name in names:
        if name in OF_RUNS:
            yield name, None, partial(OF_RUNS[name], runs)


LONGEST = 60  # letters of a dataset and its options in the name of a file


def save_figures(runs: Sequence[Run], folder: Path, only: Sequence[str] = ()) -> Iterator[str]:
    """Draw each as PNG and SVG; one line for each file, or for why there is none. At least one must come out."""
    parts = by_data(runs)
    if not parts:
        raise UserError("there is nothing to draw: none of these runs is a model of the classes")
    ends = dict(zip(parts, _endings(list(parts)), strict=True))
    written = 0
    for name, data, draw in drawings(runs, only or NAMES):
        stem = name + (ends[data] if data else "")
        try:
            drawing = draw()
        except NothingToDraw as reason:
            yield f"{stem}: not drawn, {reason}"
            continue
        for kind, content in (("png", png(drawing.figure)), ("svg", svg(drawing.figure))):
            path = folder / f"{stem}.{kind}"
            with replacing(path) as stream:
                stream.write(content)
            yield str(path)
            written += 1
    if not written:
        raise UserError("no figure could be drawn from these runs; the lines above say why")


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
