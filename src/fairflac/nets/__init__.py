"""All networks by name. Each takes the number of classes and keyword options."""

from fairflac.nets.bagnet import BagNet18
from fairflac.nets.resnet import ResNet18
from fairflac.nets.simple_conv import SimpleConvNet
from fairflac.types import Network

NETS: dict[str, type[Network]] = {"simple-conv": SimpleConvNet, "resnet18": ResNet18, "bagnet18": BagNet18}

__all__ = ["NETS"]
