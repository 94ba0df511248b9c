"""ResNet-18 with the layer names of torchvision, so that its published weights load as they are."""

from pathlib import Path
from typing import Literal, final

import torch.nn.functional as F
from torch import Tensor, nn

from fairflac.nets.fast_conv import FastConv2d
from fairflac.nets.weights import load_weights
from fairflac.types import Network, Output


def projection(inputs: int, outputs: int, stride: int) -> nn.Module | None:
    """What brings a shortcut to the shape of what it is added to; None: it has that shape already."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut (He et al., CVPR 2016, Fig. 5 left)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = FastConv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = FastConv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out)) + shortcut
        return F.relu(out, inplace=True)


@final
class ResNet18(Network):
    """The network of the face and ImageNet experiments; features are the 512 numbers after average pooling.

    `stem` is how it begins: `imagenet` as published (7 x 7, a quarter of the positions after pooling), `cifar` with a
    3 x 3 convolution and no pooling, for images of 32 pixels. `weights` is a local state dict with torchvision's names,
    see `load_weights`.
    """

    feature_dim = 512
    middle, middle_dim = "layer2", 128

    def __init__(
        self, num_classes: int, *, stem: Literal["imagenet", "cifar"] = "imagenet", weights: Path | None = None
    ) -> None:
        super().__init__()
        small = stem == "cifar"
        self.conv1 = nn.Conv2d(3, 64, *((3, 1, 1) if small else (7, 2, 3)), bias=False)  # size, stride, padding
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = _layer(64, 64, stride=1)
        self.layer2 = _layer(64, 128, stride=2)
        self.layer3 = _layer(128, 256, stride=2)
        self.layer4 = _layer(256, 512, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if weights is not None:
            load_weights(self, weights)

    def forward(self, x: Tensor) -> Output:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        features = self.avgpool(x).flatten(1)  # (B, 512)
        return Output(self.fc(features), features)


def _layer(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))
