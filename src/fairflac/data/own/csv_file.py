"""Images listed in a CSV file."""

import csv
import io
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, final
from unicodedata import normalize

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.own.folder import Share, Size
from fairflac.data.own.listing import FRAMING, SPLITS, Listing, ReadOptions, read_split
from fairflac.errors import UserError, unknown

NEEDED = ("path", "label")
SEPARATORS = (",", ";", "\t", "|")


@final
class Table(Dataset):
    """Your own images, listed in a CSV file: path, label and, if you like, split and attributes (`--set path=FILE`).

    Input: `size` x `size` RGB, the largest centred square of each image; any format that Pillow opens.
    Class: the column `label`.
    Bias: every further column, or those named in `columns`.
    Splits: the column `split` (train, val, test) where there is one, else as for a folder.
    Source: `path`; image paths are relative to the file's folder, and stay under it unless `allow_outside`.
    Licence: yours.
    """

    name: ClassVar[str] = "csv"
    attributes: ClassVar[tuple[str, ...] | None] = None
    framing = FRAMING

    def __init__(
        self,
        seed: int = 0,
        *,
        path: Path,
        columns: tuple[str, ...] | None = None,
        allow_outside: bool = False,
        size: Size = 64,
        validation: Share = 0.1,
        test: Share = 0.2,
        strict: bool = False,
        groups: Path | None = None,
    ) -> None:
        self.seed = seed
        self.path = Path(path).expanduser()
        self.columns, self.allow_outside = columns, allow_outside
        self.size, self.validation, self.test, self.strict = size, validation, test, strict
        self.groups = None if groups is None else Path(groups).expanduser()

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        say("csv: these are your own images; name the table with --set path=FILE.csv")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        raise UserError("csv: say which one: fairflac data check FILE.csv")

    def listing(self) -> Listing:
        return list_table(self.path, self.columns, self.allow_outside)

    def reading(self, root: Path) -> ReadOptions:
        return ReadOptions(self.size, self.seed, self.validation, self.test, root / "cache", self.strict)

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        return read_split(self.listing(), self.reading(root), split)


@dataclass(frozen=True)
class CsvRows:
    """A CSV file as text. Blanks around a value do not count, and lines without any value are passed over."""

    header: list[str]
    rows: list[dict[str, str]]  # a value for every column, empty where there is none
    lines: list[int]  # where each row ends in the file


def read_csv(path: Path) -> CsvRows:
    """Separated by commas, semicolons, tabs or bars, whichever gives the columns that are needed."""
    text = _text(path)
    separator = _separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    header: list[str] = []
    rows, lines = [], []
    try:
        for values in reader:
            cells = [cell.strip() for cell in values]
            if not any(cells):
                continue
            if not header:
                header = _header(path, cells)
                continue
            if any(cells[len(header) :]):
                raise UserError(
                    f"line {reader.line_num} of '{path}' has {len(cells)} fields, and there are {len(header)} columns: "
                    f"put a value that holds a '{separator}' in double quotes"
                )
            rows.append(dict(zip_longest(header, cells[: len(header)], fillvalue="")))
            lines.append(reader.line_num)
    except csv.Error as error:
        raise UserError(f"line {reader.line_num} of '{path}' is not valid CSV ({error}): check its quotes") from error
    return CsvRows(header, rows, lines)


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"there is no file '{path}': check the path") from None
    except IsADirectoryError:
        raise UserError(f"'{path}' is a folder: give a CSV file, or take folder") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"line {line} of '{path}' is not in UTF-8: give a CSV file, saved in UTF-8") from None
    if (position := text.find("\0")) >= 0:
        line = text.count("\n", 0, position) + 1
        raise UserError(f"line {line} of '{path}' holds a NUL byte, so it is not text: save it as a CSV file in UTF-8")
    return text


def _separator(text: str) -> str:
    """The first that gives the columns we need, else the one that gives most."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    parsed = {one: [cell.strip() for cell in next(csv.reader([first], delimiter=one))] for one in SEPARATORS if first}
    fitting = (one for one, cells in parsed.items() if set(NEEDED) <= set(cells))
    return next(fitting, max(parsed, key=lambda one: len(parsed[one]), default=SEPARATORS[0]))


def _header(path: Path, cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells = cells[:-1]
    if twice := [name for name, count in Counter(cells).items() if count > 1]:
        raise UserError(f"'{path}' has the column '{twice[0]}' twice: rename one")
    return cells


def list_table(path: Path, columns: tuple[str, ...] | None = None, allow_outside: bool = False) -> Listing:
    """What the file says, checked line by line."""
    sheet = read_csv(path)
    for column in NEEDED:
        if column not in sheet.header:
            raise UserError(
                f"'{path}' has no column '{column}': its first line says {', '.join(sheet.header) or 'nothing'}, and "
                f"should name {' and '.join(NEEDED)}"
            )
    others = [name for name in sheet.header if name not in (*NEEDED, "split")]
    for name in columns or ():
        if name not in others:
            unknown("attribute column", name, others, f"in '{path}'")
    chosen = [name for name in others if name] if columns is None else list(columns)
    if not sheet.rows:
        raise UserError(f"'{path}' lists no images")
    has_splits = "split" in sheet.header
    needed = [*NEEDED, *chosen, *(["split"] if has_splits else [])]
    paths = _ImagePaths(path.parent, allow_outside)
    names = []
    for number, row in zip(sheet.lines, sheet.rows, strict=True):
        where = f"line {number} of '{path}'"
        _check_row(where, row, needed)
        names.append(paths.find(row["path"], where))
    return Listing(
        source=path,
        folder=path.parent,
        names=names,
        labels=[normalize("NFC", row["label"]) for row in sheet.rows],
        splits=[SPLITS[row["split"].lower()] for row in sheet.rows] if has_splits else None,
        attributes={name: [row[name] for row in sheet.rows] for name in chosen},
    )


def _check_row(where: str, row: dict[str, str], needed: list[str]) -> None:
    for column in needed:
        if not row[column]:
            raise UserError(f"{where} has nothing in column '{column}': fill it in, or remove the line")
    if "split" in needed and row["split"].lower() not in SPLITS:
        raise UserError(f"{where}: split '{row['split']}' is none of train, val and test")


class _ImagePaths:
    """Where the images of a table lie; each is looked for once, however often it is listed.

    Strings, not paths: a table may have hundreds of thousands of rows.
    """

    def __init__(self, folder: Path, allow_outside: bool) -> None:
        self.folder, self.allow_outside = str(folder), allow_outside
        self.root = os.path.realpath(folder)
        self.found: dict[str, str] = {}
        self.parents: dict[str, str] = {}  # without links, which takes long to find out

    def find(self, written: str, where: str) -> str:
        """The name of the file relative to the folder, as it is on disk."""
        if written not in self.found:
            name = self._on_disk(written)
            if not self.allow_outside and not self._is_inside(self._real(os.path.join(self.folder, name))):
                raise UserError(
                    f"{where}: '{written}' is outside of '{self.folder}': move the image there, or set "
                    "allow_outside=true"
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
