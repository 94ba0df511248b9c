"""Rules that choose a checkpoint. None looks at the test split; one that uses bias labels is called `oracle-…`."""

from collections.abc import Callable

import numpy as np

from fairflac.metrics import accuracy, count, summary
from fairflac.metrics.evidence import NAME, with_pseudo_groups
from fairflac.metrics.predictions import Predictions
from fairflac.metrics.scores import unbiased


def _unbiased(table: Predictions) -> float:
    values = [value for name, value in summary(table).items() if name.startswith("unbiased")]
    return min(values) if values else accuracy(table)


def _worst_class(table: Predictions) -> float:
    right = table.prediction == table.y
    return float(min(np.mean(right[table.y == label]) for label in np.unique(table.y)))


# Score of a validation table, higher is better; None keeps the last epoch.
RULES: dict[str, Callable[[Predictions], float] | None] = {
    "last": None,
    "accuracy": accuracy,
    "worst-class": _worst_class,
    "oracle-unbiased": _unbiased,
}


GUESSED = "guessed-groups"
ORACLE = "oracle-"  # how rules begin that use attribute labels


def _guessed(table: Predictions) -> float:
    pseudo = with_pseudo_groups(table)
    assert pseudo is not None  # the judge gives a guess, and hides the attribute
    return float(unbiased(count(pseudo, NAME)))


# Score of a validation table, higher is better; the first is the default.
VALIDATION_RULES: dict[str, Callable[[Predictions], float]] = {
    GUESSED: _guessed,
    **{name: rule for name, rule in RULES.items() if rule},
}
