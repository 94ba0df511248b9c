"""Rules that choose a checkpoint. None looks at the test split; one that uses bias labels is called `oracle-…`."""

from collections.abc import Callable

from fairflac.metrics import accuracy, summary
from fairflac.predictions import Predictions


def _unbiased(table: Predictions) -> float:
    values = [value for name, value in summary(table).items() if name.startswith("unbiased")]
    return min(values) if values else accuracy(table)


# Score of a validation table, higher is better; None keeps the last epoch.
RULES: dict[str, Callable[[Predictions], float] | None] = {
    "last": None,
    "accuracy": accuracy,
    "oracle-unbiased": _unbiased,
}
