"""FairKL's regulariser: similarities must be distributed alike whether two samples share the attribute or not."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

LEAST_VARIANCE = 1e-12  # below it a spread is rounding, and its root has no slope


class Spread(NamedTuple):
    """Of the similarities of some pairs; `known` is False where there are no such pairs."""

    mean: Tensor
    std: Tensor
    known: Tensor


def fairkl_loss(
    features: Tensor, y: Tensor, aligned: Tensor, *, kld: float = 0.0, pairs: Tensor | None = None
) -> Tensor:
    """(N, D), (N,), (N, N) → scalar, on features that are brought to unit length.

    `aligned` says how far two samples share the attribute: 1 or 0 by labels, or anything between by a bias model. Each
    pair of two samples counts with `aligned` among the aligned pairs (a) and with the rest among the conflicting ones
    (c), apart for positives (p, of the same class) and negatives (n). With their means mu and standard deviations sd

        R = (mu_pc - mu_pa)² + (mu_na - mu_nc)² + kld [(sd_pa - sd_pc)² + (sd_na - sd_nc)²] - mu_pc + mu_na

    Pairs that are not in the mask `pairs` (N, N) do not count. A term that misses one of its kinds of pairs is 0.
    """
    with torch.autocast(features.device.type, enabled=False):
        z = F.normalize(features if features.dtype == torch.float64 else features.float(), dim=1)
        similarity, positive = z @ z.T, y[:, None] == y
        counted = ~torch.eye(len(y), dtype=torch.bool, device=y.device)
        if pairs is not None:
            counted = counted & pairs
        aligned = aligned.to(z.dtype)
        pa, pc, na, nc = (
            _spread(similarity, torch.where(counted & sign, share, 0))
            for sign in (positive, ~positive)
            for share in (aligned, 1 - aligned)
        )
        apart = _difference(pc, pa, kld) + _difference(na, nc, kld)
        return apart - torch.where(pc.known, pc.mean, 0) + torch.where(na.known, na.mean, 0)


def _spread(similarity: Tensor, weights: Tensor) -> Spread:
    """(N, N), (N, N) → weighted mean and standard deviation."""
    total = weights.sum()
    share = weights / total.clamp_min(torch.finfo(weights.dtype).tiny)
    mean = (share * similarity).sum()
    variance = (share * (similarity - mean).square()).sum()
    return Spread(mean, variance.clamp_min(LEAST_VARIANCE).sqrt(), total > 0)


def _difference(a: Spread, b: Spread, kld: float) -> Tensor:
    squared = (a.mean - b.mean).square() + kld * (a.std - b.std).square()
    return torch.where(a.known & b.known, squared, 0)
