"""From stored bytes to what a network sees."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fairflac.types import TaskSpec


class Pixels:
    """Images of one split, turned into normalised channels-last floats a batch at a time."""

    def __init__(
        self,
        images: np.ndarray,
        task: TaskSpec,
        device: torch.device,
        augment: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        self.images = torch.from_numpy(images)  # (N, H, W, 3) uint8, no copy
        self.mean = torch.tensor(task.mean, device=device).view(1, 3, 1, 1)
        self.std = torch.tensor(task.std, device=device).view(1, 3, 1, 1)
        self.augment = augment
        self.device = device

    def __call__(self, index: Tensor, views: int = 1) -> tuple[Tensor, ...]:
        """(B,) → `views` tensors (B, 3, H, W); the permuted view of NHWC bytes is channels-last already."""
        raw = self.images[index].to(self.device, non_blocking=True).permute(0, 3, 1, 2)
        x = raw.float() / 255
        return tuple(self._normalise(x if self.augment is None else self.augment(x)) for _ in range(views))

    def _normalise(self, x: Tensor) -> Tensor:
        return ((x - self.mean) / self.std).contiguous(memory_format=torch.channels_last)
