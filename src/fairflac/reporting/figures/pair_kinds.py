"""What two images have in common, and how figures show it: the four kinds of pairs of the paper's Section 3.2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.patches import Patch

from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures.style import (
    FAINT,
    INK,
    SAME_ATTRIBUTE,
    SAME_CLASS,
    NothingToDraw,
    class_names,
    value_names,
)
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery

Stroke = Literal["-", "--", ":"]


class Kind(NamedTuple):
    """Colour and stroke both tell kinds apart."""

    label: str
    colour: str
    stroke: Stroke

    def patch(self) -> Patch:
        """For a legend."""
        return Patch(facecolor="none", edgecolor=self.colour, linestyle=self.stroke, linewidth=2)


NEITHER = Kind("other class, other attribute", FAINT, ":")  # A00
ATTRIBUTE = Kind("same attribute, other class", SAME_ATTRIBUTE, "--")  # A01
CLASS = Kind("same class, other attribute", SAME_CLASS, "-")  # A10
BOTH = Kind("same class, same attribute", INK, "-")  # A11
KINDS = (NEITHER, ATTRIBUTE, CLASS, BOTH)


def pair_kinds(table: Predictions) -> np.ndarray:
    """(N, N) places in KINDS."""
    kinds: np.ndarray = 2 * (table.y[:, None] == table.y) + same_attribute(table)
    return kinds


@dataclass(frozen=True)
class SharedGallery:
    """M images that are the same in every run, with a known attribute."""

    images: np.ndarray  # (M, H, W, 3) uint8
    tables: dict[str, Predictions]  # per model, M rows
    words: list[str]  # class and attribute values of each image

    @property
    def any_table(self) -> Predictions:
        """For what is the same in all of them: classes and attributes."""
        return next(iter(self.tables.values()))

    @classmethod
    def of(cls, models: Mapping[str, Run]) -> "SharedGallery":
        """Runs need the same test split; each adds its own mistakes to the images that all keep."""
        missing = [name for name, run in models.items() if not run.gallery.exists()]
        if missing:
            raise NothingToDraw(f"{', '.join(missing)} kept no test images: trained before runs had a gallery.npz")
        tables = {name: run.predictions for name, run in models.items()}
        if not all(table.bias for table in tables.values()):
            raise NothingToDraw("no attribute of the test images is known")
        galleries = [Gallery.load(run.gallery) for run in models.values()]
        index, images = galleries[0].index, galleries[0].images
        for other in galleries[1:]:
            both, mine, its = np.intersect1d(index, other.index, return_indices=True)
            alike = np.array([np.array_equal(images[i], other.images[j]) for i, j in zip(mine, its, strict=True)], bool)
            index, images = both[alike], images[mine[alike]]
        if len(index) < 2:
            raise NothingToDraw("these models were tested on different images")
        some = {name: table.take(np.searchsorted(table.index, index)) for name, table in tables.items()}
        return cls(images, some, _words(next(iter(models.values())), next(iter(some.values()))))

    def minority(self, count: int) -> np.ndarray:
        """Up to `count` images whose attribute does not go with their class: drawn blindly, of different classes first.

        No model has a say in it, so that none is shown at its best.
        """
        table = self.any_table
        rows = np.random.default_rng(0).permutation(len(table))
        rows = rows[conflicting(table)[rows]]
        if not len(rows):
            raise NothingToDraw("no kept test image has an attribute that does not go with its class")
        turn = np.array([np.count_nonzero(table.y[rows[:place]] == table.y[row]) for place, row in enumerate(rows)])
        chosen: np.ndarray = rows[np.argsort(turn, kind="stable")][:count]
        return chosen


def _words(run: Run, table: Predictions) -> list[str]:
    columns = [np.array(class_names(run, table.y))[table.y]]
    columns += [np.array(value_names(run, name, values))[values] for name, values in table.bias.items()]
    return [", ".join(words) for words in zip(*columns, strict=True)]


def same_attribute(table: Predictions) -> np.ndarray:
    """(N, N): do two images have the same value? Several attributes: the same in all of them."""
    same = np.ones((len(table), len(table)), dtype=bool)
    for values in table.bias.values():
        same &= values[:, None] == values
    return same


def conflicting(table: Predictions) -> np.ndarray:
    """(N,): does the value of some attribute not go with the class?"""
    found = np.zeros(len(table), dtype=bool)
    for goes_together in table.aligned.values():
        found |= ~goes_together
    return found
