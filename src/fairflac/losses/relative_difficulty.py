"""How hard a sample is for a biased model in comparison to the debiased one: large where the shortcut fails."""

import torch
from torch import Tensor, nn

from fairflac.losses.sample_table import SampleTable

TINY = 1e-8  # as in LfF's public code; a sample that is hard for neither model weighs nothing


class RelativeDifficulty(nn.Module):
    """W(x) = L_B / (L_B + L_D), Nam et al., NeurIPS 2020 (the relative difficulty score).

    L_B and L_D are moving averages of each sample's own losses under the two models, divided by the largest of its
    class in the training set, so that no class counts more because it is harder. Both tables are saved with the model.
    """

    y: Tensor  # (N,) classes of the training set, which brings them anew

    def __init__(self, num_classes: int, decay: float) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.biased, self.debiased = SampleTable(decay), SampleTable(decay)
        self.register_buffer("y", torch.empty(0, dtype=torch.int64), persistent=False)

    def prepare(self, y: Tensor) -> None:
        """(N,) classes in index order; forgets all losses."""
        self.y = y
        for table in (self.biased, self.debiased):
            table.resize(len(y))

    @torch.no_grad()
    def forward(self, index: Tensor, biased: Tensor, debiased: Tensor) -> Tensor:
        """(B,) indices and losses under both models → (B,) weights, no gradients."""
        hard_for_biased = self._relative(self.biased, index, biased)
        hard_for_debiased = self._relative(self.debiased, index, debiased)
        return hard_for_biased / (hard_for_biased + hard_for_debiased + TINY)

    def _relative(self, table: SampleTable, index: Tensor, losses: Tensor) -> Tensor:
        averages = table.update(index, losses)
        # Losses that have all become 0 stay 0, instead of 0 / 0.
        largest = table.class_maxima(self.y, self.num_classes).clamp_min(torch.finfo(averages.dtype).tiny)
        return averages / largest[self.y[index]]
