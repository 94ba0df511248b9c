"""All networks by name. Each takes the number of classes and keyword options."""

from collections.abc import Callable

from fairflac.nets.adapted import adapt, timm_net
from fairflac.nets.frozen import FrozenResNet18
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import MLP, SimpleConvNet
from fairflac.nets.textures import BagNet18
from fairflac.types import Network

NETS: dict[str, Callable[..., Network]] = {
    "simple-conv": SimpleConvNet,
    "resnet18": ResNet18,
    "frozen-resnet18": FrozenResNet18,
    "bagnet18": BagNet18,
    "mlp": MLP,
    "timm": timm_net,
}

__all__ = ["NETS", "adapt"]
