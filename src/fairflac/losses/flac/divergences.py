"""How far apart two conditional distributions are, entry by entry (paper, Eq. 6 and the divergence ablation)."""

from typing import Literal

from torch import Tensor

Divergence = Literal["jeffreys", "kl", "mse"]


def pointwise(p: Tensor, q: Tensor, divergence: Divergence) -> Tensor:
    """The summand of D(p, q); `p` comes from the bias model, `q` from the trained one, both positive."""
    if divergence == "mse":
        return (p - q).square()
    log_ratio = p.log() - q.log()
    return (p if divergence == "kl" else p - q) * log_ratio
