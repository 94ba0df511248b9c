"""FLAC's loss in its textbook form: N × N matrices and autograd. The reference for tests and benchmark."""

import torch
import torch.nn.functional as F
from torch import Tensor

from fairflac.losses.flac.divergences import Divergence
from fairflac.losses.flac.kernels import DISTANCE_EPS
from fairflac.losses.flac.loss import FLACLoss
from fairflac.losses.flac.settings import ROW_EPS, TINY, Settings
from fairflac.losses.gather import gather_batch


class DenseFLACLoss(FLACLoss):
    """Same arguments, value, gradient and `stats` as `FLACLoss`; fp32 or float64."""

    def forward(self, bias_features: Tensor, features: Tensor, y: Tensor) -> Tensor:
        """(N, D_b), (N, D), (N,) → scalar."""
        settings, b, h = self.settings, bias_features.detach(), features
        if self.gather:
            b, h, y = gather_batch(b, h, y)
        if settings.normalize:
            b, h = F.normalize(b, dim=1), F.normalize(h, dim=1)
        kernel_b = similarities(b, settings)
        threshold = attribute_threshold(kernel_b, settings)
        same_target, different_target = conflicting_pairs(kernel_b, y, threshold, settings)
        mask = {
            "conflicting": same_target | different_target,
            "same-target": same_target,
            "different-target": different_target,
            "all": ~torch.eye(len(y), dtype=torch.bool, device=y.device),
        }[settings.pairs]
        p_b = rows_to_distributions(1 - kernel_b, mask)
        p_h = rows_to_distributions(similarities(h, settings), mask)
        total = torch.where(mask, pointwise(p_b, p_h, settings.divergence), 0).sum()
        partners = mask.sum(1)
        same_class = y[:, None] == y
        mixed = (mask & same_class).any(1) & (mask & ~same_class).any(1)
        self._stats = {
            "pairs": partners.sum().float(),
            "threshold": threshold,
            "spread": kernel_b.max() - kernel_b.min(),
            "mixed_rows": mixed.float().mean(),
            "singleton_rows": (partners == 1).float().mean(),
        }
        divisors: dict[str, Tensor | int] = {
            "sum": 1,
            "mean": partners.sum().clamp_min(1),
            "batch": max(len(y), 1),
        }
        return total / divisors[settings.reduction]


def similarities(features: Tensor, settings: Settings) -> Tensor:
    """(N, D) → (N, N) kernel matrix (Eq. 5 and the kernel ablation)."""
    if settings.kernel == "cosine":
        unit = F.normalize(features, dim=1)
        return (1 + (unit @ unit.T).clamp(-1, 1)) / 2
    # Distances do not change when all rows move together; centred rows lose fewer digits in the expansion.
    centred = features - features.detach().mean(0)
    norms = centred.square().sum(1)
    squared = (norms[:, None] + norms - 2 * centred @ centred.T).clamp_min(0)
    if settings.kernel == "rbf":
        return torch.exp(-squared / 2)
    return 1 / (1 + (squared + DISTANCE_EPS).pow(settings.exponent / 2))


def attribute_threshold(kernel_b: Tensor, settings: Settings) -> Tensor:
    """() midway between the largest and the smallest similarity, with or without the diagonal (Eq. 2)."""
    if settings.threshold == "midrange-off-diagonal" and len(kernel_b) > 1:
        kernel_b = kernel_b[~torch.eye(len(kernel_b), dtype=torch.bool, device=kernel_b.device)]
    return (kernel_b.max() + kernel_b.min()) / 2


def conflicting_pairs(kernel_b: Tensor, y: Tensor, threshold: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """(N, N) masks of A10 and A01 (Eq. 1)."""
    same_attribute = kernel_b > threshold
    different_attribute = kernel_b < threshold if settings.threshold == "midrange" else ~same_attribute
    same_class = y[:, None] == y
    off_diagonal = ~torch.eye(len(y), dtype=torch.bool, device=y.device)
    return same_class & different_attribute & off_diagonal, ~same_class & same_attribute


def rows_to_distributions(values: Tensor, mask: Tensor) -> Tensor:
    """p_{i|j}: each row divided by its sum over S (Eq. 3, 4); 1 where the mask is false, so that logs stay finite.

    Matrix and mask are symmetric, so rows and columns are the same.
    """
    inside = torch.where(mask, values.clamp_min(TINY), 0)
    return torch.where(mask, inside / (inside.sum(1, keepdim=True) + ROW_EPS), 1)


def pointwise(p: Tensor, q: Tensor, divergence: Divergence) -> Tensor:
    """The summand of D(p, q) (Eq. 6 and the divergence ablation)."""
    if divergence == "mse":
        return (p - q).square()
    log_ratio = p.log() - q.log()
    return (p if divergence == "kl" else p - q) * log_ratio
