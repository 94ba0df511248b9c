"""The Biased-MNIST colouring: a digit on a background whose colour goes with its class."""

import math
from collections.abc import Sequence

import numpy as np

# RGB of the background that goes with digit k. 225 in entries 3 and 4 is how the benchmark was published.
COLOURS = np.array(
    [
        (255, 0, 0),
        (0, 255, 0),
        (0, 0, 255),
        (225, 225, 0),
        (225, 0, 225),
        (0, 255, 255),
        (255, 128, 0),
        (255, 0, 128),
        (128, 0, 255),
        (128, 128, 128),
    ],
    dtype=np.uint8,
)
COLOUR_NAMES = ("red", "green", "blue", "yellow", "magenta", "cyan", "orange", "pink", "violet", "grey")


def assign_colours(
    y: np.ndarray, q: float | Sequence[float], rng: np.random.Generator, n_confusing: int = len(COLOURS) - 1
) -> np.ndarray:
    """Give every digit a colour; conflicts are counted, not drawn. `q` is one for all classes or one for each.

    Per class of n digits, int(n * q) chosen at random get their own colour. The r that remain are cut into chunks
    of ceil(r / n_confusing), one for each of the next n_confusing colours (9 is followed by 0) in random order, so the
    last ones may get none.
    """
    colours = np.empty(len(y), dtype=np.int64)
    number = len(COLOURS)
    shares = np.broadcast_to(q, number)
    for digit in range(number):
        members = rng.permutation(np.flatnonzero(y == digit))
        others = rng.permutation(sorted((digit + k) % number for k in range(1, n_confusing + 1)))
        aligned = int(len(members) * shares[digit])
        rest = members[aligned:]
        chunk = max(1, math.ceil(len(rest) / len(others)))
        colours[members[:aligned]] = digit
        colours[rest] = others[np.arange(len(rest)) // chunk]
    return colours


def paint(digits: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """(N, H, W) grey digits → (N, H, W, 3): every stroke pixel white, the background in the given colour."""
    return np.where(digits[..., None] != 0, np.uint8(255), COLOURS[colours][:, None, None, :])
