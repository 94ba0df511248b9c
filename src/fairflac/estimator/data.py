"""Arrays and labels as the dataset that the engine trains on."""

from typing import Any

import numpy as np

from fairflac.data.base import BiasedDataset
from fairflac.data.listing import MEAN, STD, aligned_values
from fairflac.estimator.inputs import WrongInput
from fairflac.types import Attribute, TaskSpec

ATTRIBUTE = "attribute"  # what labels given beside the classes are called


def labelled(x: np.ndarray, y: np.ndarray, attribute: Any = None) -> tuple[BiasedDataset, np.ndarray]:
    """All rows as a training set, and the classes in the order of their numbers."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise WrongInput(f"y has only one class, {classes[0]!r}: a classifier needs two or more")
    bias, attributes = _attribute(attribute, codes, len(classes))
    size = (x.shape[1], x.shape[2]) if x.ndim == 4 else (1, x.shape[1])
    task = TaskSpec(tuple(map(str, classes)), attributes, size, MEAN, STD)
    return BiasedDataset(_writable(x), codes.astype(np.int64), bias, _names(len(x)), "train", task), classes


def unlabelled(x: np.ndarray, task: TaskSpec) -> BiasedDataset:
    return BiasedDataset(_writable(x), np.zeros(len(x), dtype=np.int64), {}, _names(len(x)), "test", task)


def _attribute(values: Any, y: np.ndarray, num_classes: int) -> tuple[dict[str, np.ndarray], dict[str, Attribute]]:
    if values is None:
        return {}, {}
    given = np.asarray(values)
    if given.shape != y.shape:
        raise WrongInput(f"attribute has shape {given.shape} and y {y.shape}: give one value for each row")
    names, codes = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise WrongInput(f"attribute is {names[0]!r} in every row: a bias model can learn nothing from it")
    aligned = aligned_values(y, codes, num_classes, len(names))
    return {ATTRIBUTE: codes.astype(np.int64)}, {ATTRIBUTE: Attribute(tuple(map(str, names)), aligned)}


def _names(count: int) -> np.ndarray:
    return np.arange(count).astype(str)


def _writable(x: np.ndarray) -> np.ndarray:
    """Nobody writes to it, but torch takes no other."""
    return x if x.flags.writeable else x.copy()
