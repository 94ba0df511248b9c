"""The Corrupted-CIFAR10 construction: which corruption every image gets, and giving it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairflac.progress import meter

# The corruption that goes with class k, k = 0 … 9, in the two sets of Nam et al. (LfF, NeurIPS 2020).
TYPE0 = (
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "spatter",
    "elastic",
    "jpeg",
    "pixelate",
    "saturate",
)
TYPE1 = (
    "gaussian-noise",
    "shot-noise",
    "impulse-noise",
    "speckle-noise",
    "gaussian-blur",
    "defocus-blur",
    "glass-blur",
    "motion-blur",
    "zoom-blur",
    "original",
)
VALUES = 10
CHUNK = 500  # images that are corrupted at once


def assign_corruptions(y: NDArray[np.int64], q: float) -> NDArray[np.int64]:
    """Give every image one of ten corruptions; nothing is drawn.

    The images of a class, in the order they come in, are cut into ten runs for corruption 0 … 9: its own has a share q
    of the class, every other (1 - q) / 9. A run ends where the sum of the shares up to it, times the size of the class,
    rounds to.
    """
    corruptions = np.empty(len(y), dtype=np.int64)
    for label in range(VALUES):
        members = np.flatnonzero(y == label)
        shares = np.full(VALUES, (1 - q) / (VALUES - 1))
        shares[label] = q
        ends = np.round(len(members) * np.cumsum(shares))
        corruptions[members] = np.searchsorted(ends, np.arange(len(members)), side="right")
    return corruptions


def corrupt(
    images: NDArray[np.uint8],
    corruptions: NDArray[np.int64],
    names: Sequence[str],
    severity: int,
    key: Sequence[int],
    textures: Sequence[NDArray[np.uint8]] | None,
) -> NDArray[np.uint8]:
    """Image i gets corruption `names[corruptions[i]]`; all that is random in it follows from `key`."""
    from fairflac.data.corruptions import CORRUPTIONS, frost  # with scipy slow to import, and only needed here

    corrupted = np.empty_like(images)
    with meter("corrupt", len(images)) as bar:
        for value, name in enumerate(names):
            bar.note(name)
            members = np.flatnonzero(corruptions == value)
            for number, start in enumerate(range(0, len(members), CHUNK)):
                chosen = members[start : start + CHUNK]
                rng = np.random.default_rng([*key, value, number])
                if name == "frost":
                    corrupted[chosen] = frost(images[chosen], severity, rng, textures)
                else:
                    corrupted[chosen] = CORRUPTIONS[name](images[chosen], severity, rng)
                bar.advance(len(chosen))
    return corrupted
