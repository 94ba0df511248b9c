"""How far apart two conditional distributions are, entry by entry (paper, Eq. 6 and the divergence ablation)."""

from typing import Literal

from fairflac.losses.flac.arrays import Array, namespace

Divergence = Literal["jeffreys", "kl", "mse"]


def pointwise(p: Array, q: Array, divergence: Divergence) -> tuple[Array, Array]:
    """The summand f of D(p, q) and its slope in log q, which is q ∂f/∂q and stays finite where q vanishes.

    `p` comes from the bias model, `q` from the trained one, both positive.
    """
    difference = p - q
    if divergence == "mse":
        return difference**2, -2 * q * difference
    xp = namespace(p)
    log_ratio = xp.log(p) - xp.log(q)
    if divergence == "kl":
        return p * log_ratio, -p
    return difference * log_ratio, -difference - q * log_ratio
