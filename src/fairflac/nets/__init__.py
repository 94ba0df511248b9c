"""All networks by name. Each takes the number of classes and keyword options."""

from fairflac.nets.resnet import ResNet18
from fairflac.nets.simple_conv import SimpleConvNet
from fairflac.types import Network

NETS: dict[str, type[Network]] = {"simple-conv": SimpleConvNet, "resnet18": ResNet18}

__all__ = ["NETS"]
