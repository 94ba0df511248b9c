"""Predictions from three lists."""

import numpy as np

from fairflac.metrics.predictions import Predictions


def make(y: list[int], bias: list[int], prediction: list[int], attributes: int = 1) -> Predictions:
    a, b = np.array(y), np.array(bias)
    names = ["tone", "size"][:attributes]
    values = {"tone": b, "size": (b + a) % 2}
    return Predictions(
        index=np.arange(len(a)),
        y=a,
        prediction=np.array(prediction),
        score=np.ones(len(a)),
        features=np.ones((len(a), 2)),
        bias={name: values[name] for name in names},
        aligned={name: values[name] == a for name in names},
    )
