"""FLAC's loss as the paper writes it (Eq. 1-6), to read, cite and teach from; the fused form is tested against it."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args, get_type_hints

import torch
import torch.nn.functional as F
from torch import Tensor

Kernel = Literal["student-t", "cosine", "rbf"]
Divergence = Literal["jeffreys", "kl", "mse"]
Pairs = Literal["conflicting", "all", "same-target", "different-target"]
Threshold = Literal["midrange", "midrange-off-diagonal"]
Targets = Literal["dissimilarity", "reachable"]
Reduction = Literal["mean", "sum", "batch"]  # the sum over S is divided by |S|, by nothing (the paper), by N

DISTANCE_EPS = 1e-6  # inside the root: keeps the gradient finite for equal rows; value of the released code
ROW_EPS = 1e-7  # in both denominators, likewise
TINY = 2.0**-126  # least similarity and dissimilarity, so that logs stay finite: the smallest normal fp32 number


@dataclass(frozen=True)
class Settings:
    """One member of the loss family; what each means: `FLACLoss`."""

    kernel: Kernel
    exponent: float
    divergence: Divergence
    pairs: Pairs
    threshold: Threshold
    reduction: Reduction
    normalize: bool
    targets: Targets
    balanced_rows: bool = False

    def __post_init__(self) -> None:
        for argument, hint in get_type_hints(type(self)).items():
            if (choices := get_args(hint)) and getattr(self, argument) not in choices:
                raise ValueError(f"{argument} must be one of {', '.join(choices)}, not {getattr(self, argument)!r}")
        if not self.exponent > 0:
            raise ValueError(f"exponent must be positive, not {self.exponent}")
        if self.targets == "reachable" and not (self.normalize or self.kernel == "cosine"):
            raise ValueError("targets = 'reachable' needs normalize: similarities of features of any length reach 0")


class Textbook(NamedTuple):
    """The loss, and the matrices that it is made of."""

    value: Tensor  # ()
    kernel_b: Tensor  # (N, N) similarities of the bias model
    mask: Tensor  # (N, N) which pairs are in S
    p_b: Tensor  # (N, N) targets: the bias model's dissimilarities as distributions


def textbook_flac(b: Tensor, h: Tensor, y: Tensor, settings: Settings) -> Textbook:
    """(N, D_b) bias features, (N, D) trained features, (N,) classes → the loss (Eq. 6)."""
    if settings.normalize:
        b, h = F.normalize(b, dim=1), F.normalize(h, dim=1)
    kernel_b = similarities(b, settings)
    threshold = attribute_threshold(kernel_b, settings)
    mask = pairs_in_s(kernel_b, y, threshold, settings)
    reachable = 1 - (kernel_b > threshold).to(kernel_b) * (1 - least_similarity(settings))  # 1, or K_0
    weights = row_weights(mask, y).to(kernel_b) if settings.balanced_rows else torch.ones_like(kernel_b)
    p_b = rows_to_distributions(reachable if settings.targets == "reachable" else 1 - kernel_b, mask, weights)
    p_h = rows_to_distributions(similarities(h, settings), mask, weights)
    total = torch.where(mask, pointwise(p_b, p_h, settings.divergence), 0).sum()
    divisors: dict[str, Tensor | int] = {"sum": 1, "mean": mask.sum().clamp_min(1), "batch": max(len(y), 1)}
    return Textbook(total / divisors[settings.reduction], kernel_b, mask, p_b)


def pairs_in_s(kernel_b: Tensor, y: Tensor, threshold: Tensor, settings: Settings) -> Tensor:
    """(N, N) mask of S (Eq. 1): A10, same class but another attribute, and A01, same attribute but another class."""
    same_class = y[:, None] == y
    off_diagonal = ~torch.eye(len(y), dtype=torch.bool, device=y.device)
    same_attribute = kernel_b > threshold
    different_attribute = kernel_b < threshold if settings.threshold == "midrange" else ~same_attribute
    a10, a01 = same_class & different_attribute & off_diagonal, ~same_class & same_attribute
    return {"conflicting": a10 | a01, "same-target": a10, "different-target": a01, "all": off_diagonal}[settings.pairs]


def attribute_threshold(kernel_b: Tensor, settings: Settings) -> Tensor:
    """() midway between the bias model's largest and smallest similarity, with or without the diagonal (Eq. 2)."""
    if settings.threshold == "midrange-off-diagonal" and len(kernel_b) > 1:
        kernel_b = kernel_b[~torch.eye(len(kernel_b), dtype=torch.bool, device=kernel_b.device)]
    return (kernel_b.max() + kernel_b.min()) / 2


def row_weights(mask: Tensor, y: Tensor) -> Tensor:
    """(N, N) weights of the pairs (i, j) in row j: |A10^j| / |A01^j| on A01, else 1; 1 where a row lacks one kind.

    Eq. 11 over S is alpha(j) = ((1 - delta) |A10^j| + delta |A01^j|) / |A10^j|: 1 where both kinds are as many, as the
    paper assumes. With A01 so weighted in both sums it is 1 in every row, whatever delta.
    """
    same_class = y[:, None] == y
    a10, a01 = ((mask & kind).sum(1, keepdim=True).double() for kind in (same_class, ~same_class))
    ratio = torch.where((a10 > 0) & (a01 > 0), a10 / a01.clamp_min(1), 1)
    return torch.where(same_class, 1, ratio)


def rows_to_distributions(values: Tensor, mask: Tensor, weights: Tensor) -> Tensor:
    """p_{i|j}: each row divided by its sum over S (Eq. 3, 4); 1 where the mask is false, so that logs stay finite.

    Matrix and mask are symmetric, so rows and columns are the same; with weights the row j is the one that is summed.
    """
    inside = torch.where(mask, values.clamp_min(TINY) * weights, 0)
    return torch.where(mask, inside / (inside.sum(1, keepdim=True) + ROW_EPS), 1)


def similarities(features: Tensor, settings: Settings) -> Tensor:
    """(N, D) → (N, N) kernel matrix (Eq. 5 for exponent 1, and the kernel ablation)."""
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


def least_similarity(settings: Settings) -> float:
    """K_0, of orthogonal unit rows: rows without negative entries (after ReLU) are never farther apart."""
    return float(similarities(torch.eye(2, dtype=torch.float64), settings)[0, 1])


def pointwise(p: Tensor, q: Tensor, divergence: Divergence) -> Tensor:
    """The summand of D(p, q) (Eq. 6 for jeffreys, and the divergence ablation)."""
    if divergence == "mse":
        return (p - q).square()
    log_ratio = p.log() - q.log()
    return (p if divergence == "kl" else p - q) * log_ratio
