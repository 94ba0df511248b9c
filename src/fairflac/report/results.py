"""The numbers of each run, each with the images behind it and its 95 % interval."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairflac.metrics import METRICS, Measured, measure
from fairflac.metrics.measure import ACCURACIES, mean
from fairflac.predictions import Predictions
from fairflac.report.tables import Row

MEANINGS = {  # of what is not among the main numbers
    "p_rule": (
        "p % rule",
        "How often a class is named for one value of the attribute, as a share of how often for another; the smallest "
        "such share. 100 % is even; 80 % is a usual bound.",
    ),
    "fpr_gap": (
        "false alarms",
        "How much more often, for one value of the attribute than for another, a class is named that is not there.",
    ),
    "fnr_gap": (
        "misses",
        "How much more often, for one value of the attribute than for another, a class is overlooked that is there.",
    ),
    "error_rate_gap": ("false alarms + misses", "The sum of both."),
    "equalised_odds_gap": ("equalised odds", "The larger of both."),
    "demographic_parity_gap": (
        "demographic parity",
        "How much more often a class is named for one value of the attribute than for another.",
    ),
    "bias_amplification": (
        "bias amplification",
        "How much more often than is true the class is named that goes with the attribute.",
    ),
}


@dataclass(frozen=True)
class Result:
    """One line of the results: its words from the row, its numbers measured anew."""

    row: Row
    numbers: Mapping[str, Measured]  # by name of the metric; several attributes: the worse of them

    def measured(self, title: str) -> Measured | None:
        """By the title of a column."""
        return self.numbers.get(title.replace(" ", "_"))


def result(row: Row, table: Predictions) -> Result:
    return Result(row, worst_of_attributes(measure(table)))


def mean_of_seeds(results: Sequence[Result]) -> dict[str, Measured]:
    """The intervals stay about as wide as those of one seed, since all see the same test images."""
    shared = [name for name in results[0].numbers if all(name in one.numbers for one in results)]
    return {name: mean([one.numbers[name] for one in results]) for name in shared}


def worst_of_attributes(numbers: Mapping[str, Measured]) -> dict[str, Measured]:
    """`unbiased:colour` and `unbiased:size` → `unbiased`, that of the attribute where it is worse."""
    by_metric: dict[str, list[Measured]] = {}
    for key, number in numbers.items():
        if not math.isnan(number.value):
            by_metric.setdefault(key.partition(":")[0], []).append(number)
    good = {*ACCURACIES, "p_rule"}  # of all others, less is better
    return {name: (min if name in good else max)(found) for name, found in by_metric.items()}


def further_metrics() -> dict[str, tuple[str, str]]:
    """Title and meaning of every metric that is not among the main ones."""
    return {name: MEANINGS.get(name, (name.replace("_", " "), "")) for name in METRICS if name not in ACCURACIES}
