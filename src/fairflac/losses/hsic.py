"""HSIC: how much two representations of the same samples depend on each other."""

from typing import Literal

import torch
from torch import Tensor

Similarity = Literal["rbf", "linear"]
Width = float | Literal["median", "mean"]

FEWEST = 4  # samples that the estimator is defined for
NARROWEST = 1e-6  # σ² of equal samples, whose median and mean distances are 0


def hsic(x: Tensor, y: Tensor, *, kernel: Similarity = "rbf", sigma: Width = 1.0) -> Tensor:
    """Hilbert-Schmidt independence criterion: how much two representations of the same samples depend on each other.

    The unbiased estimator HSIC_1 of Song et al., JMLR 2012, Eq. 5. With kernel matrices K of x and L of y
    whose diagonals are set to zero, and 1 a vector of ones,

        HSIC_1 = [tr(KL) + 1ᵀK1 · 1ᵀL1 / ((N-1)(N-2)) - 2/(N-2) · 1ᵀKL1] / (N(N-3)).

    It is 0 in expectation for independent x and y, so a single value can be negative. Fewer than 4 samples say nothing:
    the value is 0, and so is its gradient. Under autocast it is computed in fp32.

    Args:
        x: (N, D).
        y: (N, E).
        kernel: `rbf`, exp(-d² / 2σ²) of the distance d, or `linear`, the dot product.
        sigma: the width σ of the RBF kernel, or `median`: that of the distances between these samples, for each
            representation its own, or `mean`: σ² is the mean of the squared distances, of a sample to itself included.

    Returns:
        () HSIC_1.

    Example:
        >>> x = torch.tensor([[0.0], [1.0], [2.0], [3.0], [4.0]])
        >>> hsic(x, -x), hsic(x, x % 2)
        (tensor(0.1081), tensor(-0.0465))
    """
    n = len(x)
    if n < FEWEST:
        return 0 * (x.sum() + y.sum())
    with torch.autocast(x.device.type, enabled=False):
        of_x, of_y = (_hollow_kernel(z if z.dtype == torch.float64 else z.float(), kernel, sigma) for z in (x, y))
        x_rows, y_rows = of_x.sum(1), of_y.sum(1)  # (N,)
        trace = (of_x * of_y).sum()  # both are symmetric
        totals = x_rows.sum() * y_rows.sum() / ((n - 1) * (n - 2))
        return (trace + totals - 2 / (n - 2) * (x_rows @ y_rows)) / (n * (n - 3))


def _hollow_kernel(z: Tensor, kernel: Similarity, sigma: Width) -> Tensor:
    """(N, D) → (N, N) similarities with a zero diagonal."""
    z = z - z.mean(0)  # changes neither estimator, and smaller numbers lose fewer digits
    products = z @ z.T
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    if kernel == "linear":
        return products.masked_fill(itself, 0)
    lengths = products.diagonal()
    distances = (lengths[:, None] + lengths[None, :] - 2 * products).clamp_min(0)  # squared
    return (distances / (-2 * _square(distances.detach(), sigma))).exp().masked_fill(itself, 0)


def _square(distances: Tensor, sigma: Width) -> Tensor | float:
    """(N, N) squared distances → σ²."""
    if sigma == "median":
        itself = torch.eye(len(distances), dtype=torch.bool, device=distances.device)
        return distances.masked_fill(itself, torch.nan).nanmedian().clamp_min(NARROWEST)
    return distances.mean().clamp_min(NARROWEST) if sigma == "mean" else sigma**2
