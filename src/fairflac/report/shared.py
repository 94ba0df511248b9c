"""What test images have in common."""

import numpy as np

from fairflac.predictions import Predictions


def same_attribute(table: Predictions) -> np.ndarray:
    """(N, N): do two images have the same value? Several attributes: the same in all of them."""
    same = np.ones((len(table), len(table)), dtype=bool)
    for values in table.bias.values():
        same &= values[:, None] == values
    return same


def conflicting(table: Predictions) -> np.ndarray:
    """(N,): does the value of some attribute not go with the class?"""
    found = np.zeros(len(table), dtype=bool)
    for goes_together in table.aligned.values():
        found |= ~goes_together
    return found
