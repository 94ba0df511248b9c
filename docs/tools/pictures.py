"""The pictures of the pages on concepts, from real digits and the loss itself: `python docs/tools/pictures.py`."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes

from fairflac.data.base import BiasedDataset
from fairflac.data.sets.biased_mnist import BiasedDigits
from fairflac.losses import FLACLoss
from fairflac.losses.flac.textbook import textbook_flac

IMAGES = Path(__file__).parents[1] / "images"
SAVE = {"dpi": 130, "bbox_inches": "tight", "metadata": {"Software": None}}


def digits(split: str) -> BiasedDataset:
    data = BiasedDigits(q=0.97, validation=0.0).load(Path(), split)  # type: ignore[arg-type]
    assert data is not None
    return data


def show(axis: Axes, image: np.ndarray) -> None:
    axis.imshow(image)
    axis.set_xticks([])
    axis.set_yticks([])


def with_colour(data: BiasedDataset, digit: int, colour: int, number: int = 0) -> np.ndarray:
    """A digit of this class before this background."""
    rows = np.flatnonzero((data.y == digit) & (data.bias["colour"] == colour))
    return data.images[rows[number]]


def shortcut(path: Path) -> None:
    """Training digits: most have the colour of their class, few another."""
    train = digits("train")
    figure, axes = plt.subplots(3, 10, figsize=(9, 3))
    for digit in range(10):
        conflicting = train.images[(train.y == digit) & (train.bias["colour"] != digit)]
        for row, image in enumerate([*(with_colour(train, digit, digit, n) for n in (0, 1)), conflicting[0]]):
            show(axes[row, digit], image)
    axes[0, 0].set_ylabel("aligned\n97 of 100", rotation=0, ha="right", va="center")
    axes[2, 0].set_ylabel("conflicting\n3 of 100", rotation=0, ha="right", va="center")
    figure.savefig(path, **SAVE)


KINDS = {
    "same class, other colour\n$A_{10}$: in S, pull together": ((3, 3), (3, 7)),
    "other class, same colour\n$A_{01}$: in S, push apart": ((3, 7), (7, 7)),
    "same class, same colour\n$A_{11}$: left alone": ((3, 3), (3, 3)),
    "other class, other colour\n$A_{00}$: left alone": ((3, 3), (7, 7)),
}


def pairs(path: Path) -> None:
    """The four kinds of pairs; FLAC takes two."""
    test = digits("test")
    figure = plt.figure(figsize=(9, 2.2))
    for column, (title, pair) in enumerate(KINDS.items()):
        part = figure.add_gridspec(1, 4, wspace=0.25)[column].subgridspec(1, 2, wspace=0.05)
        axes = part.subplots()
        for number, (axis, (digit, colour)) in enumerate(zip(axes, pair, strict=True)):
            show(axis, with_colour(test, digit, colour, number))
            for spine in axis.spines.values():
                spine.set(color="tab:red" if column == 0 else "tab:blue" if column == 1 else "0.8", linewidth=3)
        axes[0].set_title(title, fontsize=9, x=1.05)
    figure.savefig(path, **SAVE)


BATCH = [(3, 3), (3, 3), (3, 7), (7, 7), (7, 7), (7, 3)]  # digit and colour


def matrices(path: Path) -> None:
    """A batch of six digits as the loss sees it, with a bias model that knows the colour and nothing else."""
    test = digits("test")
    images = [with_colour(test, digit, colour, number) for number, (digit, colour) in enumerate(BATCH)]
    y, colours = torch.tensor(BATCH).T
    colour_features = torch.eye(10)[colours]
    flac = textbook_flac(colour_features, torch.eye(10)[y], y, FLACLoss().settings)
    asked = torch.where(flac.mask, 1 - flac.kernel_b, torch.nan)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6))
    titles = ("similarity by the bias model, $K(b)$", "the pairs of S", "what FLAC asks for: $1 - K(b)$ on S")
    shades = plt.get_cmap("viridis").with_extremes(bad="0.92")
    for axis, title, values in zip(axes, titles, (flac.kernel_b, flac.mask.float(), asked), strict=True):
        axis.imshow(values, cmap=shades, vmin=0, vmax=1, extent=(0, 6, 6, 0))
        for number, image in enumerate(images):
            axis.imshow(image, extent=(-1.1, -0.15, number + 0.97, number + 0.03))
            axis.imshow(image, extent=(number + 0.03, number + 0.97, -0.15, -1.1))
        if axis is not axes[1]:
            for (row, column), value in np.ndenumerate(values.numpy()):
                if not np.isnan(value):
                    dark = value < 0.6
                    axis.text(
                        column + 0.5, row + 0.55, f"{value:.2f}", ha="center", fontsize=8, color="w" if dark else "k"
                    )
        axis.set(xlim=(-1.15, 6), ylim=(6, -1.15))
        axis.axis("off")
        axis.text(3, 6.5, title, ha="center", fontsize=10)
    figure.savefig(path, **SAVE)


def kernel(path: Path) -> None:
    """How similarity falls with distance, for unit-length features."""
    distance = np.linspace(0, 2, 200)
    figure, axis = plt.subplots(figsize=(5, 2.6))
    for exponent, style in ((0.5, "-"), (1.0, "--")):
        axis.plot(distance, 1 / (1 + distance**exponent), style, label=f"exponent {exponent:g}")
    axis.axvline(np.sqrt(2), color="0.7", linewidth=1)
    axis.text(np.sqrt(2) + 0.03, 0.9, "orthogonal", color="0.4", fontsize=8)
    axis.set(xlabel="distance of two features of length 1", ylabel="similarity K", ylim=(0, 1.02))
    axis.legend()
    figure.savefig(path, **SAVE)


if __name__ == "__main__":
    for draw in (shortcut, pairs, matrices, kernel):
        draw(IMAGES / f"concept-{draw.__name__}.png")
