"""All datasets by name."""

from fairflac.data import mnist
from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.biased_digits import BiasedDigits
from fairflac.data.biased_mnist import BiasedMNIST

DATASETS: dict[str, type[Dataset]] = {dataset.name: dataset for dataset in (BiasedMNIST, BiasedDigits)}

# Raw files that datasets are built from, by name: modules with `get` and `check`.
SOURCES = {"mnist": mnist}

__all__ = ["DATASETS", "SOURCES", "BiasedDataset", "Dataset", "Split"]
