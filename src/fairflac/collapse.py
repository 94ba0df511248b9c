"""A model that gives all images the same class, as too strong a regulariser can make it."""

import numpy as np

from fairflac.predictions import Predictions


def collapse_advice(table: Predictions, split: str) -> str | None:
    """What to say of such a model: its group accuracies alone hide it well. None of any other."""
    if len(np.unique(table.prediction)) > 1 or len(np.unique(table.y)) == 1:
        return None
    return f"the model has collapsed: it gives every {split} image one class. Lower alpha or lr, or raise ce_weight"
