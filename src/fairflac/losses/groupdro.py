"""The online weights of GroupDRO: groups with a high loss count more and more."""

import torch
from torch import Tensor, nn


class GroupWeights(nn.Module):
    """q over groups: q_g ← q_g exp(eta_q (l_g + adjustment / √n_g)) for the groups of a batch, Σ_g q_g = 1.

    Sagawa et al., ICLR 2020, Algorithm 1. A group that is absent from a batch keeps its q but for the common scale, and
    one that the training set does not have gets none.
    """

    q: Tensor  # (G,)
    margin: Tensor  # (G,) adjustment / √n_g

    def __init__(self, groups: int, eta_q: float, adjustment: float = 0.0) -> None:
        super().__init__()
        self.eta_q = eta_q
        self.adjustment = adjustment
        self.register_buffer("q", torch.full((groups,), 1 / groups))
        self.register_buffer("margin", torch.zeros(groups), persistent=False)  # `start` knows it again

    def start(self, sizes: Tensor) -> None:
        """(G,) samples of each group in the training set: all groups that have any begin with the same weight."""
        self.q = (sizes > 0) / (sizes > 0).sum()
        self.margin = self.adjustment / sizes.clamp_min(1).sqrt()

    def forward(self, values: Tensor, group: Tensor) -> tuple[Tensor, Tensor]:
        """(B,) losses and groups of the whole batch → Σ_g q_g l_g with the new q, and the largest l_g."""
        losses, present = group_means(values, group, len(self.q))
        with torch.no_grad():
            grown = self.q * torch.where(present, self.eta_q * (losses + self.margin), 0).exp()
            self.q = grown / grown.sum()
        return self.q @ losses, torch.where(present, losses, 0).max().detach()


def group_means(values: Tensor, group: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """(B,) values by group → (G,) means, 0 where the batch has none, and (G,) whether it has any."""
    counts = group.bincount(minlength=groups)
    sums = values.new_zeros(groups).index_add(0, group, values)
    return sums / counts.clamp_min(1), counts > 0
