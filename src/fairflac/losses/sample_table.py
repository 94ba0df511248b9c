"""A number for every training sample, kept from one visit to the next and saved with the model."""

from typing import Any

import torch
from torch import Tensor, nn

from fairflac.losses.gather import gather


class SampleTable(nn.Module):
    """Moving averages by sample index: the first visit sets the value, later ones move it by 1 - `decay`.

    It starts empty and gets its size by `resize`, or from a saved state, so that a model can be loaded without its
    training set.
    """

    values: Tensor  # (N,), NaN until a sample is seen

    def __init__(self, decay: float) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("values", torch.empty(0))

    def resize(self, n: int) -> None:
        """Forget everything, and have room for n samples."""
        self.values = torch.full((n,), torch.nan, device=self.values.device)

    def update(self, index: Tensor, values: Tensor) -> Tensor:
        """(B,), (B,) of this process → (B,) averages; the table is the same on all processes afterwards."""
        with torch.no_grad():
            everyone, new = gather(index), gather(values.detach().float())
            old = self.values[everyone]
            self.values[everyone] = torch.where(old.isnan(), new, self.decay * old + (1 - self.decay) * new)
            return self.values[index]

    def class_maxima(self, y: Tensor, num_classes: int) -> Tensor:
        """(N,) classes of the training set → (C,) largest value seen in each class; -inf where none was."""
        seen = torch.where(self.values.isnan(), -torch.inf, self.values)
        return seen.new_full((num_classes,), -torch.inf).scatter_reduce(0, y, seen, "amax")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        stored = state_dict.get(f"{prefix}values")
        if isinstance(stored, Tensor):
            self.values = torch.empty_like(stored, device=self.values.device)
        super()._load_from_state_dict(state_dict, prefix, *args)
