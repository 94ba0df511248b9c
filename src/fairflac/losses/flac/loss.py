"""FLAC's loss in its dense, textbook form."""

from typing import Literal, Self, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairflac.losses.flac.divergences import Divergence, pointwise
from fairflac.losses.flac.kernels import Kernel, similarities
from fairflac.losses.flac.pairs import Pairs, PairSets, Threshold, conflicting_pairs, select

Reduction = Literal["mean", "sum"]

# In both denominators, as in the released code.
ROW_EPS = 1e-7


class FLACLoss(nn.Module):
    """Match the similarities of the trained features to the dissimilarities of a bias model (Eq. 1-6).

    >>> loss = FLACLoss()
    >>> value = loss(torch.randn(8, 4), torch.randn(8, 6, requires_grad=True), torch.tensor([0, 1] * 4))

    The defaults are the dialect that the published alphas belong to: square-root distance, mean over S, unit-norm
    features, the diagonal in the threshold. `FLACLoss.paper()` is the literal text. After each call `stats` holds
    |S|, the threshold, the spread of the bias model's similarities, and the shares of rows that mix both kinds of pairs
    (those carry the signal) and that have a single partner (those contribute nothing).

    An empty S gives a zero that can be differentiated. Only `features` receives gradients. Half-precision inputs are
    computed in fp32, also under autocast.
    """

    def __init__(
        self,
        *,
        kernel: Kernel = "student-t",
        exponent: float = 0.5,
        divergence: Divergence = "jeffreys",
        pairs: Pairs = "conflicting",
        threshold: Threshold = "midrange",
        reduction: Reduction = "mean",
        normalize: bool = True,
    ) -> None:
        super().__init__()
        choices = {
            "kernel": (kernel, Kernel),
            "divergence": (divergence, Divergence),
            "pairs": (pairs, Pairs),
            "threshold": (threshold, Threshold),
            "reduction": (reduction, Reduction),
        }
        for argument, (value, allowed) in choices.items():
            if value not in get_args(allowed):
                raise ValueError(f"{argument} must be one of {', '.join(get_args(allowed))}, not {value!r}")
        if not exponent > 0:
            raise ValueError(f"exponent must be positive, not {exponent}")
        self.kernel: Kernel = kernel
        self.exponent = exponent
        self.divergence: Divergence = divergence
        self.pairs: Pairs = pairs
        self.threshold: Threshold = threshold
        self.reduction: Reduction = reduction
        self.normalize = normalize
        self.stats: dict[str, Tensor] = {}

    @classmethod
    def paper(cls) -> Self:
        """The text of the paper: Eq. 5 with exponent 1, a sum over S, features as they are, A without its diagonal."""
        return cls(exponent=1.0, reduction="sum", normalize=False, threshold="midrange-off-diagonal")

    def forward(self, bias_features: Tensor, features: Tensor, y: Tensor) -> Tensor:
        """(N, D_b), (N, D), (N,) → scalar."""
        _check(bias_features, features, y)
        with torch.autocast(features.device.type, enabled=False):
            b, h = self._prepare(bias_features.detach()), self._prepare(features)
            kernel_b = similarities(b, self.kernel, self.exponent)
            sets = conflicting_pairs(kernel_b, y, self.threshold)
            mask = select(sets, self.pairs)
            self.stats = _stats(kernel_b, sets, mask)
            p_b = _rows_to_distributions(1 - kernel_b, mask)
            p_h = _rows_to_distributions(similarities(h, self.kernel, self.exponent), mask)
            total = torch.where(mask, pointwise(p_b, p_h, self.divergence), 0).sum()
            return total / mask.sum().clamp_min(1) if self.reduction == "mean" else total

    def _prepare(self, features: Tensor) -> Tensor:
        features = features if features.dtype == torch.float64 else features.float()
        return F.normalize(features, dim=1) if self.normalize else features


def flac_loss(bias_features: Tensor, features: Tensor, y: Tensor, **options: object) -> Tensor:
    """`FLACLoss(**options)(bias_features, features, y)`."""
    value: Tensor = FLACLoss(**options)(bias_features, features, y)  # type: ignore[arg-type]
    return value


def _rows_to_distributions(values: Tensor, mask: Tensor) -> Tensor:
    """p_{i|j}: each row divided by its sum over S (Eq. 3, 4); 1 where the mask is false, so that logs stay finite.

    Matrix and mask are symmetric, so rows and columns are the same.
    """
    tiny = torch.finfo(values.dtype).tiny
    inside = torch.where(mask, values.clamp_min(tiny), 0)
    return torch.where(mask, inside / (inside.sum(1, keepdim=True) + ROW_EPS), 1)


def _stats(kernel_b: Tensor, sets: PairSets, mask: Tensor) -> dict[str, Tensor]:
    partners = mask.sum(1)
    mixed = (mask & sets.same_target).any(1) & (mask & sets.different_target).any(1)
    return {
        "pairs": partners.sum().float(),
        "threshold": sets.threshold.float(),
        "spread": (kernel_b.max() - kernel_b.min()).float(),
        "mixed_rows": mixed.float().mean(),
        "singleton_rows": (partners == 1).float().mean(),
    }


def _check(bias_features: Tensor, features: Tensor, y: Tensor) -> None:
    for name, tensor in (("bias_features", bias_features), ("features", features)):
        if tensor.ndim != 2 or len(tensor) != len(y):
            raise ValueError(f"{name} must be (N, D) with N = len(y) = {len(y)}, not {tuple(tensor.shape)}")
    if y.ndim != 1:
        raise ValueError(f"y must be (N,), not {tuple(y.shape)}")
