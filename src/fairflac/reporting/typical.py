"""Guessed groups in pictures: of each class the images most typical of its usual value and of another, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from fairflac.runs.gallery import Pictures, shrink

TYPICAL = 6  # images of each kind
CLASSES = 20  # that a page shows, at most

YOURS = (
    "What do the images on the left have in common, and those on the right lack? Whether that is a shortcut, or what "
    "the classes are about, only you can say."
)


def value_name(value: int) -> str:
    """Of a guessed value, until a person gives it a better one."""
    return str(value + 1)


@dataclass(frozen=True)
class GuessedGroups:
    """N images, their classes, and what was guessed of each."""

    images: Pictures
    names: np.ndarray  # (N,) where each image comes from
    classes: tuple[str, ...]
    y: np.ndarray  # (N,)
    value: np.ndarray  # (N,)
    confidence: np.ndarray  # (N,)
    usual: np.ndarray  # (C,) the value that goes with each class

    def table(self) -> list[list[str]]:
        """Images by class and value; the first line says what the columns are."""
        values = range(int(max(self.value.max(), self.usual.max())) + 1)
        head = ["class", *(f"value {value_name(value)}" for value in values)]
        lines = [
            [label, *(f"{np.sum((self.y == y) & (self.value == value)):,}" for value in values)]
            for y, label in enumerate(self.classes)
        ]
        return [head, *lines]

    def typical(self) -> "list[TypicalRows]":
        """A line for each class, the surest guesses first."""
        as_usual = self.value == self.usual[self.y]
        return [
            TypicalRows(label, *(self._surest((self.y == y) & kind) for kind in (as_usual, ~as_usual)))
            for y, label in enumerate(self.classes[:CLASSES])
        ]

    def named(self, rows: list[int]) -> list[str]:
        return [str(self.names[row]) for row in rows]

    def _surest(self, chosen: np.ndarray) -> list[int]:
        rows = np.flatnonzero(chosen)
        surest: list[int] = rows[np.argsort(-self.confidence[rows], kind="stable")][:TYPICAL].tolist()
        return surest


class TypicalRows(NamedTuple):
    """Rows of the images of a class that are most typical of its usual value, and of any other."""

    label: str
    usual: list[int]
    other: list[int]


class Region(NamedTuple):
    """Of an image, in shares of its sides."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class TypicalImage:
    place: int  # in the sprite
    name: str
    value: str
    confidence: float
    region: Region | None  # that the guess hangs on


@dataclass(frozen=True)
class ClassGallery:
    label: str
    usual: list[TypicalImage]
    other: list[TypicalImage]


@dataclass(frozen=True)
class FoundSection:
    """Of a page, for `found.html`."""

    title: str
    said: list[str]  # how sure it is
    table: list[list[str]]
    galleries: list[ClassGallery]
    look: str  # at what first; empty where nothing stands out
    caption: list[str]  # further sentences below the images


def found_section(
    title: str,
    said: list[str],
    groups: GuessedGroups,
    side: int,
    images: list[np.ndarray],
    regions: Mapping[int, Region] = MappingProxyType({}),
    look: str = "",
    caption: Sequence[str] = (),
) -> FoundSection:
    """`images` are those of the page's sprite so far, with no side longer than `side`; what is shown here is added.

    `regions`: by value, what the guess hangs on.
    """

    def shown(row: int) -> TypicalImage:
        images.append(shrink(groups.images[row], side))
        name, value = str(groups.names[row]), value_name(int(groups.value[row]))
        region = regions.get(int(groups.value[row]))
        return TypicalImage(len(images) - 1, name, value, float(groups.confidence[row]), region)

    galleries = [
        ClassGallery(label, *([shown(row) for row in rows] for rows in sides)) for label, *sides in groups.typical()
    ]
    return FoundSection(title, said, groups.table(), galleries, look, list(caption))
