"""Similarity kernels K(a, b) in (0, 1] between all rows of a batch (paper, Eq. 5 and the kernel ablation)."""

from typing import Literal

import torch
from torch import Tensor

Kernel = Literal["student-t", "cosine", "rbf"]

# Inside the root: keeps the gradient of the distance finite for equal rows. Value of the released code.
DISTANCE_EPS = 1e-6


def squared_distances(features: Tensor) -> Tensor:
    """(N, D) → (N, N) squared Euclidean distances, never negative, exactly symmetric."""
    # Distances do not change when all rows move together; centred rows lose fewer digits in the expansion below.
    centred = features - features.detach().mean(0, keepdim=True)
    norms = centred.square().sum(1)
    gram = centred @ centred.T
    return (norms[:, None] + norms[None, :] - (gram + gram.T)).clamp_min(0)


def similarities(features: Tensor, kernel: Kernel, exponent: float = 1.0) -> Tensor:
    """(N, D) → (N, N) kernel matrix.

    - `student-t`: 1 / (1 + ||a - b||^exponent), Eq. 5 for exponent 1
    - `cosine`: (1 + cos(a, b)) / 2
    - `rbf`: exp(-||a - b||² / 2), unit width
    """
    if kernel == "cosine":
        unit = torch.nn.functional.normalize(features, dim=1)
        return (1 + (unit @ unit.T).clamp(-1, 1)) / 2
    squared = squared_distances(features)
    if kernel == "rbf":
        return torch.exp(-squared / 2)
    return 1 / (1 + (squared + DISTANCE_EPS).pow(exponent / 2))
