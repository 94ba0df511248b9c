"""The lower part of VGG-16, whose features tell textures apart."""

from pathlib import Path
from typing import final

from torch import Tensor, nn

from fairflac.nets.weights import does_not_fit, read_state

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
