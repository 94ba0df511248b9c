"""Figures of pairs: how alike test images are to a model (paper, Fig. 3), and how many S has in a batch (Fig. 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from fairflac.errors import UserError
from fairflac.metrics import Measured
from fairflac.metrics.intervals import DRAWS_OF_PAIRS, SEED, bootstrap_interval, percentiles
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.representation import MOST_SAMPLES, similarities, subsample
from fairflac.metrics.scores import UNKNOWN
from fairflac.reporting.figures.images import same_attribute
from fairflac.reporting.figures.style import (
    INK,
    SAME_ATTRIBUTE,
    SAME_CLASS,
    SERIES,
    Drawing,
    NothingToDraw,
    attribute_name,
    legend,
    panels,
    short,
    tidy,
)
from fairflac.reporting.text import with_range
from fairflac.runs.directory import Run
from fairflac.system.files import read_array


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


SIMILARITY_BINS: list[float] = np.linspace(1 / 3, 1, 61).tolist()  # unit vectors are at most 2 apart


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
        loc="outside upper center",
    )
    figure.supxlabel("similarity of two test images", fontsize=10, color=INK)
    figure.supylabel("density of pairs", fontsize=10, color=INK)
    return figure


def _panel(panel: Axes, name: str, pairs: PairSimilarities) -> None:
    for values, colour in ((pairs.same_attribute, SAME_ATTRIBUTE), (pairs.same_class, SAME_CLASS)):
        if len(values):
            panel.hist(values, SIMILARITY_BINS, density=True, histtype="stepfilled", facecolor=colour, alpha=0.45)
            panel.hist(values, SIMILARITY_BINS, density=True, histtype="step", edgecolor=colour, linewidth=1.2)
    tidy(panel, name)
    panel.set_xticks([0.4, 0.6, 0.8, 1.0])


COUNT_BINS = 40  # over the widest distribution; all have the same


@dataclass(frozen=True)
class Distribution:
    """All runs, seeds included, of one method at one q."""

    label: str
    q: float | None
    images: int  # in a batch
    pairs: np.ndarray  # |S| of each batch, pairs counted in both directions
    live: bool  # training has augmented images, which these numbers do not

    @property
    def description(self) -> str:
        """Mean with its interval over batches drawn anew, and the largest."""
        low, high = bootstrap_interval(self.pairs)
        mean = f"{self.pairs.mean():.1f} on average (95 % range {low:.1f}–{high:.1f}, n = {len(self.pairs):,} batches)"
        return f"{self.label}: {mean}, at most {self.pairs.max():,} of {self.images * (self.images - 1):,}"


def pairs_per_batch(runs: Sequence[Run]) -> Drawing:
    """A histogram per q and method: how often a batch of the training set has so many pairs in S (Eq. 1).

    The more the attribute goes with the class, the fewer pairs tell the two apart. Pairs count in both directions, as
    in the paper. Batches are those of the first epoch.
    """
    found = distributions(runs)
    if not found:
        raise NothingToDraw(
            "none of these runs has counted pairs in S: only FLAC with pairs = 'conflicting' has them, and runs "
            "trained by earlier versions did not count"
        )
    figure, axes = panels(len(found), 1, (6.4, 1.45), extra=0.4)
    top = max(int(one.pairs.max()) for one in found)
    width = 2 * max(1, -(-top // (2 * COUNT_BINS)))  # counts are even
    bins = np.arange(-1, top + width, width)  # the first is around 0
    for axis, one in zip(axes, found, strict=True):
        _draw(axis, one, bins)
    sizes = {one.images for one in found}
    of = f" of {sizes.pop()}" if len(sizes) == 1 else ""
    figure.supxlabel(f"pairs in S per batch{of}; dashed: the mean", fontsize=10, color=INK)
    figure.supylabel("share of batches", fontsize=10, color=INK)
    live = [one.label for one in found if one.live]
    note = f" In training, {', '.join(live)} had augmented images; counted are the images as they are." if live else ""
    return Drawing(
        figure,
        f"Histograms of the number of pairs in S per batch for {'; '.join(one.label for one in found)}. The caption "
        "has the numbers.",
        f"Pairs that FLAC can learn from in a batch. {'; '.join(one.description for one in found)}. The more often the "
        f"attribute goes with the class, the fewer there are.{note}",
    )


def distributions(runs: Sequence[Run]) -> list[Distribution]:
    """By q, then in the order of the runs. Runs without S are left out: other methods, and ablations of S."""
    members: dict[tuple[Any, ...], list[Run]] = {}
    for run in filter(_uses_s, runs):
        config = run.config
        q = q if isinstance(q := config.get("data_options", {}).get("q"), float | int) else None
        train = config["train"]
        key = config["dataset"], q, config["method"], train["batch_size"], train.get("bias_features") == "live"
        members.setdefault(key, []).append(run)
    datasets, sizes = {key[0] for key in members}, {key[3] for key in members}
    found = []
    for (dataset, q, method, images, live), alike in members.items():
        words = [short(method, 14), *([] if q is None else [f"q = {q:g}"])]
        words += [short(dataset, 14)] if len(datasets) > 1 or q is None else []
        words += [f"batch of {images}"] if len(sizes) > 1 else []
        found.append(Distribution(", ".join(words), q, images, np.concatenate([_counts(run) for run in alike]), live))
    return sorted(found, key=lambda one: (one.q is None, one.q or 0.0))


def _counts(run: Run) -> np.ndarray:
    try:
        return read_array(run.pairs_per_batch)
    except ValueError as error:
        raise UserError(
            f"'{run.pairs_per_batch}' is damaged: put back a copy, or train it anew (--restart; in Python resume=False)"
        ) from error


def _uses_s(run: Run) -> bool:
    """Methods with a bias model all count; FLAC over S is what logs the pairs as well."""
    if not run.pairs_per_batch.exists() or not (run.path / "metrics.jsonl").exists():
        return False
    every_pair = run.config.get("method_options", {}).get("pairs", "conflicting") != "conflicting"
    return not every_pair and any("pairs" in entry for entry in run.history)


def _draw(axes: Axes, one: Distribution, bins: np.ndarray) -> None:
    tidy(axes, one.label)
    shares = np.full(len(one.pairs), 1 / len(one.pairs))
    axes.hist(one.pairs, bins.tolist(), weights=shares, color=SERIES[0], alpha=0.75)
    axes.set_xlim(float(bins[0]), float(bins[-1]))
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.locator_params(axis="y", nbins=3)
    axes.axvline(float(one.pairs.mean()), color=INK, linewidth=1.2, linestyle="--")
