"""How alike pairs of test images are to a model (paper, Fig. 3)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairflac.predictions import Predictions
from fairflac.report.figures.drawing import Drawing, NothingToDraw
from fairflac.report.figures.names import attribute_name
from fairflac.report.figures.style import INK, SAME_ATTRIBUTE, SAME_CLASS, legend, panels, tidy
from fairflac.report.ranges import with_range
from fairflac.report.similarity import PairSimilarities, class_first, pair_similarities
from fairflac.report.tables import UNKNOWN
from fairflac.runs import Run

BINS: list[float] = np.linspace(1 / 3, 1, 61).tolist()  # unit vectors are at most 2 apart


def similarities(models: Mapping[str, Run], columns: int = 3) -> Drawing:
    """`similarity_distributions` of all models whose test images have a known attribute."""
    known = known_tables(models)
    if not known:
        raise NothingToDraw("no attribute of the test images is known, so there are no pairs to tell apart")
    attribute = attribute_name(next(iter(known.values())))
    shares = {name: class_first(table) for name, table in known.items()}
    return Drawing(
        similarity_distributions(known, columns),
        f"For {', '.join(known)}: distributions of the similarity of pairs of test images, in red with the same class "
        f"and another {attribute}, in blue with the same {attribute} and another class. The caption has the numbers.",
        "How often a red pair is more alike than a blue one (50 % is no preference): "
        + ", ".join(f"{name} {with_range(share) if share else UNKNOWN}" for name, share in shares.items())
        + ".",
    )


def known_tables(models: Mapping[str, Run]) -> dict[str, Predictions]:
    """Of the models whose test images have a known attribute."""
    tables = {name: run.predictions for name, run in models.items()}
    return {name: table for name, table in tables.items() if table.bias}


def similarity_distributions(named: Mapping[str, Predictions], columns: int = 3) -> Figure:
    """Per model, how alike pairs of test images are: red, only the class is shared; blue, only the attribute.

    In a model that ignores the attribute, red is to the right of blue (paper, Fig. 3).
    """
    columns = max(1, min(columns, len(named)))
    figure, axes = panels(len(named), columns, (3.4, 2.7), extra=0.5, share=True)
    for panel, (name, table) in zip(axes, named.items(), strict=True):
        _panel(panel, name, pair_similarities(table))
    legend(
        figure,
        [Patch(color=SAME_CLASS, alpha=0.6), Patch(color=SAME_ATTRIBUTE, alpha=0.6)],
        ["same class, other attribute", "same attribute, other class"],
        columns=min(2, columns),
        place="outside upper center",
    )
    figure.supxlabel("similarity of two test images", fontsize=10, color=INK)
    figure.supylabel("density of pairs", fontsize=10, color=INK)
    return figure


def _panel(panel: Axes, name: str, pairs: PairSimilarities) -> None:
    for values, colour in ((pairs.same_attribute, SAME_ATTRIBUTE), (pairs.same_class, SAME_CLASS)):
        if len(values):
            panel.hist(values, BINS, density=True, histtype="stepfilled", facecolor=colour, alpha=0.45)
            panel.hist(values, BINS, density=True, histtype="step", edgecolor=colour, linewidth=1.2)
    tidy(panel, name)
    panel.set_xticks([0.4, 0.6, 0.8, 1.0])
