"""All figures by name: those of the models of one dataset, and those of runs of any data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from fairflac.report.figures.centre import distances_from_centre
from fairflac.report.figures.curves import training_curves
from fairflac.report.figures.drawing import Drawing
from fairflac.report.figures.feature_map import feature_maps
from fairflac.report.figures.group_accuracy import group_accuracies
from fairflac.report.figures.neighbours import nearest_neighbours
from fairflac.report.figures.pairs_per_batch import pairs_per_batch
from fairflac.report.figures.similarity import similarities
from fairflac.report.models import by_data, models
from fairflac.runs import Run

OF_MODELS: dict[str, Callable[[Mapping[str, Run]], Drawing]] = {
    "group-accuracy": group_accuracies,
    "similarities": similarities,
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
