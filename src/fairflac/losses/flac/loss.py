"""FLAC's loss as a module and as a function."""

from typing import Self, Unpack

import torch
from torch import Tensor, nn

from fairflac.losses.flac.divergences import Divergence
from fairflac.losses.flac.fused import WithGradient, fused_flac
from fairflac.losses.flac.kernels import Kernel
from fairflac.losses.flac.pairs import Pairs, Threshold
from fairflac.losses.flac.settings import Options, Reduction, Settings
from fairflac.losses.gather import gather_batch


class FLACLoss(nn.Module):
    """Match the similarities of the trained features to the dissimilarities of a bias model (Eq. 1-6).

    >>> loss = FLACLoss()
    >>> value = loss(torch.randn(8, 4), torch.randn(8, 6, requires_grad=True), torch.tensor([0, 1] * 4))

    The defaults are the dialect that the published alphas belong to: square-root distance, mean over S, unit-norm
    features, the diagonal in the threshold. `FLACLoss.paper()` is the literal text. After each call `stats` holds
    |S|, the threshold, the spread of the bias model's similarities, and the shares of rows that mix both kinds of pairs
    (those carry the signal) and that have a single partner (those contribute nothing).

    An empty S gives a zero that can be differentiated: bias features that are all equal, a single sample, or one class
    of one attribute. Features that are not finite are a ValueError. Only `features` receives gradients, once (second
    derivatives: `DenseFLACLoss`). Half-precision inputs are computed in fp32, also under autocast. Time grows with N²,
    memory beside inputs and gradient stays below some hundred MB.

    With several processes each sees the pairs of its own batch, unless `gather`: then the loss is that of their joint
    batch, the same everywhere, and its gradients are right once they are averaged over processes, as DDP does.
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
        gather: bool = False,
    ) -> None:
        super().__init__()
        self.gather = gather
        self.settings = Settings(kernel, exponent, divergence, pairs, threshold, reduction, normalize)
        self._stats: dict[str, Tensor | float] = {}

    @classmethod
    def paper(cls, *, gather: bool = False) -> Self:
        """The text of the paper: Eq. 5 with exponent 1, a sum over S, features as they are, A without its diagonal."""
        return cls(exponent=1.0, reduction="sum", normalize=False, threshold="midrange-off-diagonal", gather=gather)

    @property
    def stats(self) -> dict[str, Tensor]:
        """() each, of the last call."""
        return {name: torch.as_tensor(x, dtype=torch.float32) for name, x in self._stats.items()}

    def forward(self, bias_features: Tensor, features: Tensor, y: Tensor) -> Tensor:
        """(N, D_b), (N, D), (N,) → scalar."""
        _check_shapes(bias_features, features, y)
        if torch.compiler.is_compiling():  # nothing to trace: numpy, and sizes that depend on values
            value: Tensor = torch.compiler.disable(self._fused)(bias_features, features, y)
            return value
        return self._fused(bias_features, features, y)

    def _fused(self, bias_features: Tensor, features: Tensor, y: Tensor) -> Tensor:
        if self.gather:
            bias_features, features, y = gather_batch(bias_features.detach(), features, y)
        dtype = torch.float64 if torch.float64 in (bias_features.dtype, features.dtype) else torch.float32
        b, h = (x if x.dtype == dtype else x.to(dtype) for x in (bias_features.detach(), features))
        result = fused_flac(b, h.detach(), y, self.settings)
        self._stats = result.stats
        value: Tensor = WithGradient.apply(h, result)  # type: ignore[no-untyped-call]
        return value


def flac_loss(bias_features: Tensor, features: Tensor, y: Tensor, **options: Unpack[Options]) -> Tensor:
    """`FLACLoss(**options)(bias_features, features, y)`."""
    value: Tensor = FLACLoss(**options)(bias_features, features, y)
    return value


def _check_shapes(bias_features: Tensor, features: Tensor, y: Tensor) -> None:
    if y.ndim != 1:
        raise ValueError(f"y must be (N,), not {tuple(y.shape)}")
    n = y.shape[0]
    for name, x in (("bias_features", bias_features), ("features", features)):
        if x.ndim != 2 or x.shape[0] != n:
            raise ValueError(f"{name} must be (N, D) with N = len(y) = {n}, not {tuple(x.shape)}")
