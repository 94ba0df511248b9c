"""The whole way from pixels to probabilities as one module."""

import copy

import torch
from torch import Tensor, nn

from fairflac.data.augment import unit_floats
from fairflac.methods.base import Method
from fairflac.nets.conv import FastConv2d

INPUT, OUTPUTS = "images", ("logits", "probabilities")


class Classifier(nn.Module):
    """(N, H, W, 3) uint8 → (N, C) logits and probabilities, by the way that the method itself predicts."""

    mean: Tensor
    std: Tensor

    def __init__(self, method: Method) -> None:
        super().__init__()
        self.method = with_plain_convolutions(method).float().eval().requires_grad_(False)
        self.register_buffer("mean", torch.tensor(method.spec.mean).view(1, 3, 1, 1))
        self.register_buffer("std", torch.tensor(method.spec.std).view(1, 3, 1, 1))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.method.predict((unit_floats(images) - self.mean) / self.std)
        return logits, logits.softmax(1)

    def example(self) -> Tensor:
        """Two images, with which the graph is recorded."""
        return torch.zeros(2, *self.method.spec.image_size, 3, dtype=torch.uint8)


def with_plain_convolutions(method: Method) -> Method:
    """A copy on the CPU in which no convolution takes a way of its own, which a recorded graph would keep."""
    copied = copy.deepcopy(method).cpu()
    for module in copied.modules():
        if isinstance(module, FastConv2d):
            module.__class__ = nn.Conv2d  # type: ignore[assignment]  # same state, and the forward pass of its parent
    return copied
