"""Random numbers that are a function of where they are used.

There is no state to save, so neither the order of the samples, nor their batch, nor the number of processes, nor a
restart in the middle of an epoch changes a single number.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np
from torch import Tensor

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio


class Purpose(IntEnum):
    """What a number is drawn for. A new purpose goes to the end: renumbering would change the images of every run."""

    CROP = 0
    FLIP = 1
    ROTATION = 2
    JITTER = 3
    GREY = 4


@dataclass(frozen=True)
class Draws:
    """The random numbers of one view of some samples."""

    key: np.ndarray  # (B,) uint64

    @classmethod
    def at(cls, *, seed: int, epoch: int, view: int, index: Tensor) -> Self:
        key = np.zeros(1, dtype=np.uint64)
        for part in (seed, epoch, view):
            key = mix(key ^ np.uint64(part))
        return cls(mix(key ^ index.cpu().numpy().astype(np.uint64)))

    def uniform(self, purpose: Purpose, count: int) -> np.ndarray:
        """(count, B) float64 in [0, 1); the first numbers of a purpose do not depend on how many are asked for."""
        number = np.arange(count, dtype=np.uint64)[:, None]
        words = mix(mix(self.key ^ np.uint64(purpose)) ^ number)
        return (words >> np.uint64(11)) * 2.0**-53  # as many bits as a double holds


def mix(x: np.ndarray) -> np.ndarray:
    """One step of SplitMix64 from state `x`: a bijection of 64 bits in which every input bit moves every output bit.

    On arrays only: there numpy's unsigned integers wrap without a warning.
    """
    x = x + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x
