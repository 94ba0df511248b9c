"""Networks that are used as they are, and a head that is trained on what one of them sees."""

from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, final

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from fairflac.nets.resnet import ResNet18
from fairflac.types import Network, Output

SIDE = 96  # pixels at which the ImageNet network sees an image at least: enough for it, and seconds for thousands


class Frozen(nn.Module):
    """A network that stays in eval mode and without gradients, whatever `train()` is called around it."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> "Frozen":
        return self  # BatchNorm statistics of a bias model must never drift

    @torch.no_grad()
    def forward(self, x: Tensor) -> Output:
        return self.network(x)


def fold_batch_norm(network: nn.Module) -> None:
    """In place: what BatchNorm does to the output of the convolution before it becomes part of that convolution, which
    in eval mode is the same function but for rounding, and a tenth faster."""
    for module in list(network.modules()):
        for (name, first), (after, second) in pairwise(module.named_children()):
            if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                setattr(module, name, fuse_conv_bn_eval(first, second))
                setattr(module, after, nn.Identity())


@final
class FrozenResNet18(Network):
    """A ResNet-18 that stays as its weights are, and a head: Standardise → Linear → ReLU → Linear.

    Only the head is trained, on embeddings: the 512 numbers after average pooling, which are computed once for all
    epochs. Features are the `width` numbers after the ReLU, for a debiasing loss has to have something to change.
    Images of less than 96 pixels are enlarged to it. `weights` are those of the ResNet-18, see `load_weights`; without
    them it is good for nothing but to load what was trained.
    """

    frozen: ClassVar[bool] = True

    def __init__(
        self, num_classes: int, *, width: Annotated[int, Field(ge=1)] = 256, weights: Path | None = None
    ) -> None:
        super().__init__()
        network = ResNet18(num_classes, weights=weights)
        network.fc = nn.Identity()  # type: ignore[assignment]  # of all that it was trained for, its features are wanted
        self.backbone = Frozen(network)
        # The mean over all batches so far: a short training has no time for one that forgets.
        self.standardise = nn.BatchNorm1d(ResNet18.feature_dim, affine=False, momentum=None)
        self.hidden = nn.Linear(ResNet18.feature_dim, width)
        self.fc = nn.Linear(width, num_classes)
        self.feature_dim = width

    def embed(self, x: Tensor) -> Tensor:
        """(B, 3, H, W) → (B, 512)."""
        if min(x.shape[2:]) < SIDE:
            x = F.interpolate(x, (SIDE, SIDE), mode="bilinear")
        return self.backbone(x).features  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Output:
        """Of images, or of what `embed` made of them."""
        embedding = self.embed(x) if x.ndim == 4 else x
        features = F.relu(self.hidden(self.standardise(embedding)))
        return Output(self.fc(features), features)
