"""Rules that choose between trained models, by validation predictions alone.

Plain accuracy on data as biased as the training data is the trap: a model that reads the shortcut is right on every
aligned image, and these are nearly all.
"""

from collections.abc import Callable

from fairflac.metrics import count
from fairflac.metrics.pseudo import NAME, with_pseudo_groups
from fairflac.metrics.scores import unbiased
from fairflac.predictions import Predictions
from fairflac.selection import RULES

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
