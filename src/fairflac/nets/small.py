"""Small networks: SimpleConvNet, four convolutions for Biased-MNIST, and an MLP for vectors."""

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, final

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from fairflac.errors import UserError
from fairflac.nets.fast_conv import FastConv2d
from fairflac.nets.weights import load_weights
from fairflac.types import Network, Output

Width = Annotated[int, Field(ge=1)]
Four = Annotated[tuple[Width, ...], Field(min_length=4, max_length=4)]


@final
class SimpleConvNet(Network):
    """4 x [Conv k x k → BatchNorm → ReLU], global average pool, Linear.

    With the defaults (k = 7, no strides) it is the paper's network, 531,210 parameters for 10 classes; k = 1 sees
    single pixels only and so can learn nothing but colour. `last` is the activation of the last block: after a ReLU no
    two features can point in opposite directions, which some regularisers ask for. With `unit_features` the classifier
    sees features of length 1. `weights`: a local state dict, see `load_weights`.
    """

    middle = "blocks.1"

    def __init__(
        self,
        num_classes: int,
        *,
        kernel_size: Annotated[int, Field(ge=1, le=15)] = 7,
        strides: Four = (1, 1, 1, 1),
        channels: Four = (16, 32, 64, 128),
        last: Literal["relu", "tanh"] = "relu",
        unit_features: bool = False,
        weights: Path | None = None,
    ) -> None:
        super().__init__()
        inputs = (3, *channels[:-1])
        blocks = [_block(i, o, kernel_size, stride) for i, o, stride in zip(inputs, channels, strides, strict=True)]
        if last == "tanh":
            blocks[-1][-1] = nn.Tanh()
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels[-1], num_classes)
        self.feature_dim, self.middle_dim = channels[-1], channels[1]
        self.unit_features = unit_features
        if weights is not None:
            load_weights(self, weights)

    def forward(self, x: Tensor) -> Output:
        features = self.pool(self.blocks(x)).flatten(1)  # (B, 128)
        return Output(self.fc(F.normalize(features) if self.unit_features else features), features)


def _block(inputs: int, outputs: int, kernel_size: int, stride: int) -> nn.Sequential:
    # A strided 1 x 1 convolution reads every stride-th pixel. Picking those first is the same, and keeps clear of a
    # memory error of torch 2.13 (strided, 1 x 1, channels-last, fewer than 8 channels, one thread).
    pick = [nn.MaxPool2d(1, stride=stride)] if kernel_size == 1 and stride > 1 else []
    conv = FastConv2d(inputs, outputs, kernel_size, stride=1 if pick else stride, padding=kernel_size // 2)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(*pick, conv, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


@final
class MLP(Network):
    """Standardise → [Linear → ReLU] for each of `widths` → Linear, on `inputs` numbers: embeddings, or small images.

    Features are the last of the widths: a debiasing loss has to have something to change, and embeddings stay as they
    are.
    """

    def __init__(
        self, num_classes: int, *, inputs: Width, widths: Annotated[tuple[Width, ...], Field(min_length=1)] = (128,)
    ) -> None:
        super().__init__()
        # The mean over all batches so far: a short training has no time for one that forgets.
        self.standardise = nn.BatchNorm1d(inputs, affine=False, momentum=None)
        sizes = (inputs, *widths)
        self.body = nn.Sequential(*(layer for i, o in pairwise(sizes) for layer in (nn.Linear(i, o), nn.ReLU())))
        self.feature_dim = widths[-1]
        self.fc = nn.Linear(self.feature_dim, num_classes)

    def forward(self, x: Tensor) -> Output:
        x = x.flatten(1)
        if x.shape[1] != self.standardise.num_features:
            raise UserError(f"this mlp takes {self.standardise.num_features} numbers: set inputs to {x.shape[1]}")
        features = self.body(self.standardise(x))
        return Output(self.fc(features), features)
