"""The numbers of a table of predictions, with and without error bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from fairflac.metrics import fairness
from fairflac.metrics.intervals import Measured, Statistic, clopper_pearson_if_constant, intervals, share
from fairflac.metrics.predictions import Counts, Predictions, Values, count


def overall(counts: Counts) -> Values:
    """Share of right predictions, every image counting alike."""
    return counts.right.sum((-2, -1)) / np.maximum(counts.n.sum((-3, -2, -1)), 1)


def unbiased(counts: Counts) -> Values:
    """Mean of the group accuracies, so that every group counts alike."""
    return _mean(counts, counts.counted)


def aligned(counts: Counts) -> Values:
    """The same over the groups whose attribute goes with their class."""
    return _mean(counts, counts.counted & counts.aligned)


def conflicting(counts: Counts) -> Values:
    """The same over all other groups."""
    return _mean(counts, counts.counted & ~counts.aligned)


def worst_group(counts: Counts) -> Values:
    """The smallest group accuracy."""
    return _of(counts, counts.counted).min(-1) if counts.counted.any() else _mean(counts, counts.counted)


def effective_size(sizes: np.ndarray) -> float:
    """(G,) images per group → how many, in groups of equal size, would measure the mean of the groups as precisely.

    A mean of G group accuracies has the variance p(1 - p) · Σ(1 / n_g) / G², as if there were G² / Σ(1 / n_g) images.
    """
    return len(sizes) ** 2 / float((1 / sizes).sum())


def _of(counts: Counts, groups: np.ndarray) -> Values:
    """(..., G) accuracies of the chosen groups."""
    return counts.right[..., groups] / counts.per_group[..., groups]


def _mean(counts: Counts, groups: np.ndarray) -> Values:
    """NaN where there is no such group."""
    return _of(counts, groups).sum(-1) / (groups.sum() or np.nan)


@dataclass(frozen=True)
class Metric:
    """A number of groups, and all that is said of it anywhere."""

    name: str  # in results, JSON and Python
    title: str  # in tables
    meaning: str  # in a sentence or two, for those who never heard of it
    of: Statistic
    higher_is_better: bool = False
    share: bool = False  # of images: shown in per cent, and never quite certain
    percent: bool = False  # no share of images, but shown as one
    needs_alignment: bool = False  # looks at which value of the attribute goes with which class

    def __call__(self, counts: Counts) -> Values:
        return self.of(counts)


def _accuracy(name: str, of: Statistic, meaning: str, *, needs_alignment: bool = False) -> Metric:
    title = name.replace("_", " ")
    return Metric(name, title, meaning, of, higher_is_better=True, share=True, needs_alignment=needs_alignment)


ACCURACY = _accuracy("accuracy", overall, "Share of test images named rightly.")  # the one that needs no groups
_MAIN = (
    _accuracy(
        "unbiased",
        unbiased,
        "Accuracy with every group counted alike, a group being one class with one value of the attribute. "
        "This is the number to compare.",
    ),
    _accuracy(
        "aligned",
        aligned,
        "The same over the groups whose attribute goes with their class. The shortcut gives the right answer here.",
        needs_alignment=True,
    ),
    _accuracy(
        "conflicting",
        conflicting,
        "The same over all other groups. The shortcut gives a wrong answer here.",
        needs_alignment=True,
    ),
    _accuracy("worst_group", worst_group, "The lowest accuracy of any group."),
)
_FURTHER = (
    Metric(
        "p_rule",
        "p % rule",
        "How often a class is named for one value of the attribute, as a share of how often for another; the smallest "
        "such share. 100 % is even; 80 % is a usual bound.",
        fairness.p_rule,
        higher_is_better=True,
        percent=True,
    ),
    Metric(
        "fpr_gap",
        "false alarms",
        "How much more often, for one value of the attribute than for another, a class is named that is not there.",
        fairness.fpr_gap,
    ),
    Metric(
        "fnr_gap",
        "misses",
        "How much more often, for one value of the attribute than for another, a class is overlooked that is there.",
        fairness.fnr_gap,
    ),
    Metric("error_rate_gap", "false alarms + misses", "The sum of both.", fairness.error_rate_gap),
    Metric(
        "demographic_parity_gap",
        "demographic parity",
        "How much more often a class is named for one value of the attribute than for another.",
        fairness.demographic_parity_gap,
    ),
    Metric("equalised_odds_gap", "equalised odds", "The larger of both.", fairness.equalised_odds_gap),
    Metric(
        "bias_amplification",
        "bias amplification",
        "How much more often than is true the class is named that goes with the attribute.",
        fairness.bias_amplification,
        needs_alignment=True,
    ),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in (*_MAIN, *_FURTHER)}
# The columns of every table of results; all other metrics stand in a table of their own.
ACCURACIES = ("accuracy", *(metric.name for metric in _MAIN))


def metric_of(key: str) -> Metric | None:
    """What is measured under a key of results, such as `unbiased:colour`; None: no metric of groups."""
    name = key.partition(":")[0]
    return ACCURACY if name == ACCURACY.name else METRICS.get(name)


UNKNOWN = "\N{EN DASH}"  # in place of a value
PARTS = (".low", ".high", ".n")  # as a run directory keeps a number: its interval, and how much is behind it


def summary(table: Predictions) -> dict[str, float]:
    """Accuracy, n, and with an attribute known every one of `METRICS`.

    Several attributes: keys carry the attribute's name, `unbiased:colour`. Attributes that repeat one another count as
    one, with the mean of their scores. What cannot be measured is left out.
    """
    numbers = {"accuracy": accuracy(table), "n": len(table)}
    for suffix, repeated in _groupings(table).items():
        for name, metric in METRICS.items():
            if values := [value for counts in repeated if np.isfinite(value := float(metric(counts)))]:
                numbers[name + suffix] = fmean(values)
    return numbers


def measure(table: Predictions) -> dict[str, Measured]:
    """The same with intervals. Those of attributes that repeat one another are averaged too, which is cautious."""
    numbers = {"accuracy": share(table.prediction == table.y)}
    for suffix, repeated in _groupings(table).items():
        parts = [measure_counts(counts, METRICS) for counts in repeated]
        for name in METRICS:
            if known := [part[name] for part in parts if name in part]:
                numbers[name + suffix] = mean(known)
    return numbers


def mean(parts: Sequence[Measured]) -> Measured:
    """Of the numbers, of both ends of their intervals, and of the images behind them."""
    value, low, high, n = (fmean(column) for column in zip(*parts, strict=True))
    return Measured(value, low, high, round(n))


def accuracy(table: Predictions) -> float:
    """Share of right predictions."""
    return float(np.mean(table.prediction == table.y))


def _groupings(table: Predictions) -> dict[str, list[Counts]]:
    """Counts of each attribute by the suffix of its metrics; repeats of one attribute stand together."""
    kinds: dict[str, list[Counts]] = {}
    for attribute in table.bias:
        counts = count(table, attribute)
        if counts.counted.any():
            kinds.setdefault(table.repeats.get(attribute, attribute), []).append(counts)
    return {f":{name}" if len(kinds) > 1 else "": repeated for name, repeated in kinds.items()}


def measure_counts(counts: Counts, metrics: Mapping[str, Metric]) -> dict[str, Measured]:
    """Those of the metrics that these groups allow."""
    values = {name: float(metric(counts)) for name, metric in metrics.items()}
    known = {name: metric for name, metric in metrics.items() if np.isfinite(values[name])}
    found = {}
    for name, interval in intervals(counts, known).items():
        sizes = counts.per_group[_groups(counts, name)]
        if metrics[name].share:
            interval = clopper_pearson_if_constant(values[name], interval, effective_size(sizes))
        found[name] = Measured(values[name], *interval, int(sizes.sum()))
    return found


def _groups(counts: Counts, metric: str) -> np.ndarray:
    """(C, K) those that a metric looks at. Of several that are the worst, the largest is the surest."""
    n = counts.per_group
    if metric == "worst_group":
        rate = np.where(counts.counted, counts.right / np.maximum(n, 1), np.inf)
        worst: np.ndarray = np.arange(n.size).reshape(n.shape) == np.where(rate == rate.min(), n, 0).argmax()
        return worst
    groups = {"aligned": counts.counted & counts.aligned, "conflicting": counts.counted & ~counts.aligned}
    looked_at: np.ndarray = groups.get(metric, counts.counted if metric == "unbiased" else n > 0)
    return looked_at


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:.1f} %"
