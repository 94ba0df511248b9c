"""The two halves of S as masks, for whoever wants to look at them."""

from torch import Tensor

from fairflac.losses.flac.batch import Batch
from fairflac.losses.flac.loss import FLACLoss
from fairflac.losses.flac.pairs import in_s
from fairflac.losses.flac.settings import Settings


def inferred_pairs(bias_features: Tensor, y: Tensor, settings: Settings) -> tuple[Tensor, Tensor]:
    """(N, D_b), (N,) → (N, N) masks of A10, same class and different attribute, and of A01, the opposite (Eq. 1)."""
    b = bias_features.detach().float()
    batch = Batch(b, b, y, settings)
    squared, same_class = batch.b.tile(slice(0, batch.n)), y[:, None] == y
    a10 = in_s(squared, same_class, batch.limits, "same-target").fill_diagonal_(False)
    return a10, in_s(squared, same_class, batch.limits, "different-target")


def conflicting_pairs(bias_features: Tensor, y: Tensor) -> Tensor:
    """(N, D_b), (N,) → (N, N) mask of S as FLAC finds it with its defaults, for other losses over pairs."""
    a10, a01 = inferred_pairs(bias_features, y, FLACLoss().settings)
    return a10 | a01
