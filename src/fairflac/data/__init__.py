"""All datasets by name."""

from fairflac.data import mnist
from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.biased_digits import BiasedDigits
from fairflac.data.biased_mnist import BiasedMNIST
from fairflac.data.folder import Folder
from fairflac.data.imagenet9 import ImageNet9
from fairflac.data.imagenet_a import ImageNetA
from fairflac.data.table import Table

DATASETS: dict[str, type[Dataset]] = {
    dataset.name: dataset for dataset in (BiasedMNIST, BiasedDigits, ImageNet9, ImageNetA, Folder, Table)
}

# Raw files that datasets are built from, by name: modules with `get` and `check`.
SOURCES = {"mnist": mnist}

__all__ = ["DATASETS", "SOURCES", "BiasedDataset", "Dataset", "Split"]
