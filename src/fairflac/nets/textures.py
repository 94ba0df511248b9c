"""Networks of textures: BagNet-18, which sees little else, and the lower part of VGG-16, which tells them apart."""

import math
from pathlib import Path
from typing import final

import torch.nn.functional as F
from torch import Tensor, nn

from fairflac.nets.resnet import projection
from fairflac.nets.weights import does_not_fit, load_weights, read_state
from fairflac.types import Network, Output


class PatchBlock(nn.Module):
    """Two convolutions without padding and a shortcut; nearly all of them look at one position only."""

    def __init__(self, inputs: int, outputs: int, stride: int, kernel_size: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, kernel_size, stride=stride, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        # A 3 x 3 convolution without padding makes the map smaller than its shortcut, which loses its far edges.
        return F.relu(out + shortcut[..., : out.shape[-2], : out.shape[-1]], inplace=True)


@final
class BagNet18(Network):
    """The paper's bias model of ImageNet's textures; features are the 512 numbers after average pooling.

    Every position of the last map depends on 5 x 5 pixels: two 3 x 3 convolutions, all others 1 x 1. At 224 pixels the
    maps have 222, 110, 55, 28 and 28 positions a side. Layer names are those of the released code, so that its weights
    load. `weights`: a local state dict, see `load_weights`.
    """

    feature_dim = 512
    middle, middle_dim = "layer2", 128

    def __init__(self, num_classes: int, *, weights: Path | None = None) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 1, bias=False)
        self.conv2 = nn.Conv2d(64, 64, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64, momentum=0.001)
        self.layer1 = _layer(64, 64, stride=2, kernel_size=3)
        self.layer2 = _layer(64, 128, stride=2)
        self.layer3 = _layer(128, 256, stride=2)
        self.layer4 = _layer(256, 512, stride=1)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan_out = module.out_channels * math.prod(module.kernel_size)
                nn.init.normal_(module.weight, std=math.sqrt(2 / fan_out))
        if weights is not None:
            load_weights(self, weights)

    def forward(self, x: Tensor) -> Output:
        x = F.relu(self.bn1(self.conv2(self.conv1(x))), inplace=True)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        features = self.avgpool(x).flatten(1)  # (B, 512)
        return Output(self.fc(features), features)


def _layer(inputs: int, outputs: int, stride: int, kernel_size: int = 1) -> nn.Sequential:
    return nn.Sequential(PatchBlock(inputs, outputs, stride, kernel_size), PatchBlock(outputs, outputs, 1, 1))


BLOCKS = ((64, 64), (128, 128), (256, 256, 256))  # widths of the convolutions between two poolings


@final
class VGG16(nn.Module):
    """Up to the third convolution of the third block (conv3_3), before its ReLU; layers have torchvision's names.

    `weights` is a local file of torchvision's VGG-16. A part without weights of ImageNet is of no use, so there is no
    other way to make one.
    """

    def __init__(self, weights: Path) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for block in BLOCKS:
            for outputs in block:
                layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(inplace=True)]
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers[:-2])  # without the last ReLU and pooling
        state = read_state(Path(weights), type(self).__name__)
        try:
            self.load_state_dict({name: state[name] for name in self.state_dict()})
        except (KeyError, RuntimeError) as error:
            raise does_not_fit(weights, type(self).__name__) from error

    def forward(self, x: Tensor) -> Tensor:
        """(B, 3, H, W) → (B, 256, H / 4, W / 4)."""
        features: Tensor = self.features(x)
        return features
