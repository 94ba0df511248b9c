"""Which images a model takes for the most alike."""

import numpy as np

from fairflac.metrics.representation import distances

NEAREST = 8  # as many as in the paper's Fig. 4


def nearest(features: np.ndarray, count: int = NEAREST) -> np.ndarray:
    """(N, D) → (N, count) rows nearest to each row, itself left out, the nearest first; of equals the first."""
    far = distances(features)
    np.fill_diagonal(far, np.inf)
    order: np.ndarray = np.argsort(far, axis=1, kind="stable")[:, : min(count, len(features) - 1)]
    return order
