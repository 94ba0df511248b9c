"""How alike pairs of test images are to a model (paper, Fig. 3)."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairflac.errors import UserError
from fairflac.metrics import Measured
from fairflac.metrics.intervals import DRAWS_OF_PAIRS, SEED, percentiles
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import MOST_SAMPLES, similarities, subsample
from fairflac.metrics.scores import UNKNOWN
from fairflac.reporting.figures.pair_kinds import same_attribute
from fairflac.reporting.figures.style import (
    INK,
    SAME_ATTRIBUTE,
    SAME_CLASS,
    Drawing,
    NothingToDraw,
    attribute_name,
    legend,
    panels,
    tidy,
)
from fairflac.reporting.text.tables import with_range
from fairflac.runs.directory import Run


class PairSimilarities(NamedTuple):
    """Similarities in (0, 1], each pair once."""

    same_class: np.ndarray  # same class, different attribute
    same_attribute: np.ndarray  # different class, same attribute

    @property
    def class_first(self) -> float | None:
        """How often a pair of the same class is more alike than a pair of the same attribute; ties count half."""
        if not len(self.same_class) or not len(self.same_attribute):
            return None
        ordered = np.sort(self.same_attribute)
        below = np.searchsorted(ordered, self.same_class, "left") + np.searchsorted(ordered, self.same_class, "right")
        return float(below.mean() / 2 / len(ordered))


def pair_similarities(table: Predictions, most: int = MOST_SAMPLES) -> PairSimilarities:
    """K = 1 / (1 + ||a - b||) of unit-length features. Several attributes: the same means the same in all of them."""
    similarity, red, blue = _pairs(table, most)
    return PairSimilarities(similarity[red], similarity[blue])


def class_first(table: Predictions, most: int = MOST_SAMPLES) -> Measured | None:
    """`PairSimilarities.class_first` with its interval, over images drawn anew: a pair counts as often as both are."""
    similarity, red, blue = _pairs(table, most)
    pairs = PairSimilarities(similarity[red], similarity[blue])
    if (value := pairs.class_first) is None:
        return None
    order = np.argsort(pairs.same_attribute)
    ends = [np.searchsorted(pairs.same_attribute[order], pairs.same_class, side) for side in ("left", "right")]
    (a, b), (c, d) = red.nonzero(), (rows[order] for rows in blue.nonzero())
    n, shares = len(similarity), []
    for times in np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=DRAWS_OF_PAIRS):
        below, above = np.concatenate([[0], np.cumsum(times[c] * times[d])]), times[a] * times[b]
        if total := int(below[-1]) * int(above.sum()):
            shares.append(float(above @ (below[ends[0]] + below[ends[1]])) / 2 / total)
    return Measured(value, *percentiles(np.array(shares or [value])), n)


def _pairs(table: Predictions, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N, N) similarities, and masks of the pairs that share the class alone and the attribute alone, each once."""
    if not table.bias:
        raise UserError("similarities of pairs need test images with a known attribute")
    table = table.take(subsample(len(table), most))
    by_class, by_attribute = table.y[:, None] == table.y, same_attribute(table)
    once = np.triu(np.ones_like(by_class), k=1)
    return similarities(table.features), once & by_class & ~by_attribute, once & ~by_class & by_attribute


BINS: list[float] = np.linspace(1 / 3, 1, 61).tolist()  # unit vectors are at most 2 apart


def similarity_figure(models: Mapping[str, Run], columns: int = 3) -> Drawing:
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
