"""All datasets by name."""

from fairflac.data import cifar10, mnist
from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.biased_digits import BiasedDigits
from fairflac.data.biased_mnist import BiasedMNIST
from fairflac.data.celeba import CelebA
from fairflac.data.corrupted_cifar10 import CorruptedCIFAR10
from fairflac.data.fairface import FairFace
from fairflac.data.folder import Folder
from fairflac.data.imagenet9 import ImageNet9
from fairflac.data.imagenet_a import ImageNetA
from fairflac.data.table import Table
from fairflac.data.utkface import UTKFace

_ALL: tuple[type[Dataset], ...] = (
    BiasedMNIST,
    BiasedDigits,
    CorruptedCIFAR10,
    UTKFace,
    CelebA,
    FairFace,
    ImageNet9,
    ImageNetA,
    Folder,
    Table,
)
DATASETS: dict[str, type[Dataset]] = {dataset.name: dataset for dataset in _ALL}

# Raw files that datasets are built from, by name: modules with `get` and `check`.
SOURCES = {"mnist": mnist, "cifar10": cifar10}

__all__ = ["DATASETS", "SOURCES", "BiasedDataset", "Dataset", "Split"]
