"""Groups where nobody has labelled the attribute: what the bias model named stands in for it."""

from dataclasses import replace

import numpy as np

from fairflac.predictions import Predictions

NAME = "guess of the bias model"


def with_pseudo_groups(table: Predictions) -> Predictions | None:
    """The same table with the bias model's guess as its attribute; None if the attribute is known, or no guess is.

    A guess goes with a class if most images of that class have it. What is measured on such groups is not bias
    against people or backgrounds, but how a model does where its bias model was wrong: worth a look, no evidence.
    """
    if table.bias or table.guess is None:
        return None
    seen = np.zeros((int(table.y.max(initial=0)) + 1, int(table.guess.max(initial=0)) + 1))
    np.add.at(seen, (table.y, table.guess), 1)
    aligned = table.guess == seen.argmax(1)[table.y]
    return replace(table, bias={NAME: table.guess}, aligned={NAME: aligned}, guess=None)
