"""A table of images as text, wherever it was read from: which column is which, and what it lists."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from unicodedata import normalize

from fairflac.data.own.listing import SPLITS, Listing
from fairflac.data.pixels.rows import image_row
from fairflac.errors import UserError, unknown

PATH, LABEL, SPLIT = "path", "label", "split"
# What columns are called elsewhere; taken where there is no `path` or `label`, and one of them alone.
PATHS = (
    "file_name", "filename", "file", "filepath", "file_path", "image_path", "img_path", "image_file", "image", "img",
)  # fmt: skip
LABELS = ("labels", "class", "class_name", "target", "category")


@dataclass(frozen=True)
class ColumnChoice:
    """The columns of a table that the user names."""

    path: str | None = None
    label: str | None = None

    def settings(self) -> dict[str, str]:
        """As a dataset takes them."""
        named = {"path_column": self.path, "label_column": self.label}
        return {key: name for key, name in named.items() if name is not None}

    def __bool__(self) -> bool:
        return bool(self.settings())


USUAL = ColumnChoice()


@dataclass(frozen=True)
class Sheet:
    """Blanks around a value do not count, and lines without any value are passed over."""

    source: Path  # the file, or the folder of files
    folder: Path  # that paths are relative to
    header: list[str]
    rows: list[dict[str, str]]  # a value for every column, empty where there is none
    where: Callable[[int], str]  # place of a row → "line 3 of 'photos.csv'"
    images: tuple[str, ...] = ()  # columns that have images in their rows
    named_classes: tuple[str, ...] = ()  # columns whose values are known to be classes
    unusable: Mapping[str, str] = field(default_factory=dict)  # further columns, and what is in them
    typed: bool = False  # not written by hand: has gaps, numbers and texts that are no attributes

    @property
    def unit(self) -> str:
        return "row" if self.typed else "line"

    def path_column(self, choice: ColumnChoice = USUAL) -> str:
        """Of image files, or of the images themselves."""
        if choice.path is not None:
            return self._column(choice.path, "path_column")
        if len(self.images) > 1:
            raise UserError(f"'{self.source}' has images in {_and(self.images)}: say which with {_both('path_column')}")
        return self.images[0] if self.images else self._usual(PATH, PATHS, "path_column")

    def label_column(self, choice: ColumnChoice = USUAL) -> str:
        if choice.label is not None:
            return self._column(choice.label, "label_column")
        if LABEL not in self.header and len(self.named_classes) == 1:
            return self.named_classes[0]
        return self._usual(LABEL, (*self.named_classes, *LABELS), "label_column")

    def attributes(self, choice: ColumnChoice = USUAL) -> list[str]:
        """All further columns."""
        used = {self.path_column(choice), self.label_column(choice), SPLIT, *self.images, ""}
        return [name for name in self.header if name not in used]

    def values(self, column: str) -> list[str]:
        return [row[column] for row in self.rows]

    def _column(self, name: str, setting: str) -> str:
        if name in self.unusable:
            raise UserError(
                f"column '{name}' of '{self.source}' is {self.unusable[name]}, which cannot serve as {setting}: "
                f"choose one of {', '.join(self.header)}"
            )
        if name not in self.header:
            unknown("column", name, self.header, f"of '{self.source}'")
        if setting == "label_column" and name in self.images:
            raise UserError(f"column '{name}' of '{self.source}' has images, and no labels: choose another")
        return name

    def _usual(self, name: str, others: Sequence[str], setting: str) -> str:
        if name in self.header:
            return name
        found = [
            one for one in self.header if one.lower() in (name, *map(str.lower, others)) and one not in self.images
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(f"'{self.source}' has the columns {_and(found)}: say which with {_both(setting)}")
        nested = "".join(f", and '{one}', which is {kind}" for one, kind in list(self.unusable.items())[:1])
        raise UserError(
            f"'{self.source}' has no column '{name}': it has {', '.join(self.header) or 'nothing of use'}{nested}; "
            f"name the right one with {_both(setting)}"
        )


def _both(setting: str) -> str:
    """As a setting, and as an option of the commands that have one."""
    return f"{setting} (--{setting.replace('_', '-')})"


def join_sheets(source: Path, folder: Path, sheets: Sequence[Sheet]) -> Sheet:
    """One after the other; a column counts if all of them have it, and paths hold from `folder`."""
    first = sheets[0]
    shared = [name for name in first.header if all(name in one.header for one in sheets)]
    starts = [0, *accumulate(len(one.rows) for one in sheets)]

    def where(place: int) -> str:
        number = bisect_right(starts, place) - 1
        return sheets[number].where(place - starts[number])

    return Sheet(
        source=source,
        folder=folder,
        header=shared,
        rows=[row for one in sheets for row in one.rows],
        where=where,
        images=tuple(name for name in first.images if name in shared),
        named_classes=tuple(name for name in first.named_classes if name in shared),
        unusable={name: kind for one in sheets for name, kind in one.unusable.items()},
        typed=first.typed,
    )


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def list_sheet(
    sheet: Sheet, columns: Sequence[str] | None = None, allow_outside: bool = False, choice: ColumnChoice = USUAL
) -> Listing:
    """What a table says, checked row by row. `columns`: those that are attributes; None: all further ones."""
    path, label = sheet.path_column(choice), sheet.label_column(choice)
    others = sheet.attributes(choice)
    for name in columns or ():
        if name not in others:
            unknown("attribute column", name, others, f"in '{sheet.source}'")
    if not sheet.rows:
        raise UserError(f"'{sheet.source}' lists no images")
    chosen, notes = (list(columns), []) if columns is not None else groupable(sheet, others)
    has_splits = SPLIT in sheet.header
    needed = [path, label, *chosen, *([SPLIT] if has_splits else [])]
    paths = _ImagePaths(sheet, allow_outside)
    names = []
    for place, row in enumerate(sheet.rows):
        _check_row(sheet, place, needed)
        names.append(paths.find(row[path], place))
    return Listing(
        source=sheet.source,
        folder=sheet.folder,
        names=names,
        labels=[normalize("NFC", value) for value in sheet.values(label)],
        splits=[SPLITS[value.lower()] for value in sheet.values(SPLIT)] if has_splits else None,
        attributes={name: sheet.values(name) for name in chosen},
        notes=tuple(notes),
        label_column=label,
    )


def sheet_images(sheet: Sheet, choice: ColumnChoice = USUAL, allow_outside: bool = False) -> list[Path]:
    """The images alone; a table of images that are to be predicted has no labels."""
    column, paths = sheet.path_column(choice), _ImagePaths(sheet, allow_outside)
    for place in range(len(sheet.rows)):
        _check_row(sheet, place, [column])
    return [sheet.folder / paths.find(value, place) for place, value in enumerate(sheet.values(column))]


def groupable(sheet: Sheet, names: list[str]) -> tuple[list[str], list[str]]:
    """Attributes, and what is said of other columns. In a table that a person wrote every column is one."""
    if not sheet.typed:
        return names, []
    chosen, notes = [], []
    for name in names:
        counts = Counter(sheet.values(name))
        alone = sum(count == 1 for count in counts.values())
        if "" in counts:
            notes.append(f"column '{name}' has gaps, so it is no attribute: left out")
        elif 2 * alone > len(counts):
            notes.append(f"column '{name}' has {len(counts):,} values, most of one image alone: left out")
        else:
            chosen.append(name)
    return chosen, notes


def _check_row(sheet: Sheet, place: int, needed: list[str]) -> None:
    row = sheet.rows[place]
    for column in needed:
        if not row[column]:
            raise UserError(
                f"{sheet.where(place)} has nothing in column '{column}': fill it in, or remove the {sheet.unit}"
            )
    if SPLIT in needed and row[SPLIT].lower() not in SPLITS:
        raise UserError(f"{sheet.where(place)}: split '{row[SPLIT]}' is none of train, val and test")


class _ImagePaths:
    """Where the images of a table lie; each is looked for once, however often it is listed.

    Strings, not paths: a table may have hundreds of thousands of rows.
    """

    def __init__(self, sheet: Sheet, allow_outside: bool) -> None:
        self.sheet, self.allow_outside = sheet, allow_outside
        self.folder, self.root = str(sheet.folder), os.path.realpath(sheet.folder)
        self.found: dict[str, str] = {}
        self.parents: dict[str, str] = {}  # without links, which takes long to find out

    def find(self, written: str, place: int) -> str:
        """The name of the file relative to the folder, as it is on disk."""
        if (row := image_row(written)) is not None:
            file = self.find(row.file, place)
            return written if file == row.file else str(row._replace(file=file))
        if "\0" in written:
            raise UserError(f"{self.sheet.where(place)}: a path cannot hold the zero byte that this one has: mend it")
        if written not in self.found:
            name = self._on_disk(written)
            if not self.allow_outside and not self._is_inside(self._real(os.path.join(self.folder, name))):
                raise UserError(
                    f"{self.sheet.where(place)}: '{written}' is outside of '{self.folder}': move the image there, or "
                    "set allow_outside=true"
                )
            below = name[len(self.root) + 1 :] if os.path.isabs(name) and self._is_inside(name) else name
            self.found[written] = Path(below).as_posix()
        return self.found[written]

    def _on_disk(self, written: str) -> str:
        """Accents can be written in two ways, and Windows writes paths with backslashes; a name that fits wins."""
        forms = () if written.isascii() else (normalize("NFC", written), normalize("NFD", written))
        names: tuple[str, ...] = (written, *forms, written.replace("\\", "/"))
        for name in names:
            if os.path.lexists(os.path.join(self.folder, name)):
                return name
        return written

    def _real(self, image: str) -> str:
        parent, name = os.path.split(image)
        if name in ("", ".", "..") or os.path.islink(image):
            return os.path.realpath(image)
        if parent not in self.parents:
            self.parents[parent] = os.path.realpath(parent)
        return os.path.join(self.parents[parent], name)

    def _is_inside(self, path: str) -> bool:
        return path.startswith(os.path.join(self.root, ""))
