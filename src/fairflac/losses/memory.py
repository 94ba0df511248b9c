"""Features of past batches, so that a small batch has as many pairs as a large one."""

from typing import Any

import torch
from torch import Tensor, nn


class FeatureMemory(nn.Module):
    """A queue of the last samples, first in, first out (cross-batch memory, Wang et al., CVPR 2020).

    Features move slowly, so that those of a few steps ago are nearly those of now. No momentum network: what is kept
    is what the batch had, without gradients. A sample is forgotten after size / batch steps, which is its greatest age.

    A loss over batch and memory together reaches the parameters through the samples of the batch alone. In a batch of
    all of them each would carry a gradient, so `scale`, (B + M) / B, times this one is the same in expectation, as far
    as the memory is fresh. What is kept goes into checkpoints.

    Args:
        size: samples that are kept; those of the batch come on top.

    Example:
        >>> memory = FeatureMemory(96)
        >>> bias_features, features, y = torch.randn(32, 4), torch.randn(32, 8), torch.tensor([0, 1] * 16)
        >>> [part.shape[0] for _ in range(5) for part in memory(bias_features, features, y)[:1]], memory.scale
        ([32, 64, 96, 128, 128], 4.0)
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.scale = 1.0  # of the last call

    @property
    def kept(self) -> list[Tensor]:
        """(M, …) each, the newest first; none before the first batch."""
        return list(self.buffers())

    def forward(self, *batch: Tensor) -> tuple[Tensor, ...]:
        """The batch with the past, which then has this batch too.

        Args:
            batch: (B, …) each: for FLAC the bias features, the features and the classes.

        Returns:
            (B + M, …) each, the batch first.
        """
        past = self.kept or [now[:0] for now in batch]
        joined = tuple(torch.cat([now, old.to(now)]) for now, old in zip(batch, past, strict=True))
        self.scale = len(joined[0]) / len(batch[0])
        for number, part in enumerate(joined):
            self.register_buffer(f"past{number}", part[: self.size].detach().clone())
        return joined

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        """Of any size: that of features is not known before the first batch."""
        self._buffers.clear()
        for key, value in state_dict.items():
            if key.startswith(prefix):
                self.register_buffer(key.removeprefix(prefix), torch.empty_like(value))
        super()._load_from_state_dict(state_dict, prefix, *others)
