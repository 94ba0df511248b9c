"""All datasets by name."""

from fairflac.data import imagenet_weights
from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.own.csv_file import Table
from fairflac.data.own.folder import Folder
from fairflac.data.sets import cifar10, mnist
from fairflac.data.sets.biased_mnist import BiasedDigits, BiasedMNIST
from fairflac.data.sets.celeba import CelebA
from fairflac.data.sets.corrupted_cifar10 import CorruptedCIFAR10
from fairflac.data.sets.fairface import FairFace
from fairflac.data.sets.imagenet9 import ImageNet9
from fairflac.data.sets.imagenet_a import ImageNetA
from fairflac.data.sets.utkface import UTKFace

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

# Files that datasets are built from and trainings start from, by name: modules with `get` and `check`.
SOURCES = {"mnist": mnist, "cifar10": cifar10, "imagenet-weights": imagenet_weights}

__all__ = ["DATASETS", "SOURCES", "BiasedDataset", "Dataset", "Split"]
