"""Any folder of images: a subfolder for each class, a table beside them, or files that have images in their rows."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, final
from unicodedata import normalize

from PIL import Image

from fairflac.data.own.arrow_files import read_saved
from fairflac.data.own.csv_file import read_sheet
from fairflac.data.own.listing import SPLITS, Listing, OwnImages, Share, Size
from fairflac.data.own.shards import read_shards
from fairflac.data.own.sheet import LABEL, LABELS, SPLIT, USUAL, ColumnChoice, Sheet, join_sheets, list_sheet
from fairflac.data.pixels.cache import NAMED
from fairflac.data.pixels.live import Decode
from fairflac.errors import UserError
from fairflac.system.files import visible_files

METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")  # the table of an image folder of `datasets`
FILE_NAME = "file_name"  # its column of paths


@final
class Folder(OwnImages):
    """Your own images: a folder with a subfolder for each class, or Parquet, Arrow or tar files (`--set path=FOLDER`).

    Input: `size` x `size` RGB, the largest centred square of each image; any format that Pillow opens.
    Class: the names of the subfolders; else the column `label`, or the one that `label_column` names.
    Bias: not known; else every further column, or those named in `columns`.
    Splits: `train`, `val` and `test` folders where there are such, else a share `validation` and a share `test` of each
        class, chosen by content and seed: copies of an image stay together. Names of Parquet and tar files say
        theirs.
    Source: `path`, with images in class folders, a `metadata.csv` beside them, Parquet files, tar files as WebDataset
        has them, or what `save_to_disk` of `datasets` left.
    Licence: yours.
    """

    name: ClassVar[str] = "folder"

    def __init__(
        self,
        seed: int = 0,
        *,
        path: Path,
        size: Size = 64,
        validation: Share = 0.1,
        test: Share = 0.2,
        strict: bool = False,  # an image that cannot be read is an error, instead of left out
        groups: Path | None = None,  # guessed attribute values (`groups.csv`), in place of a bias model
        path_column: str | None = None,
        label_column: str | None = None,
        columns: tuple[str, ...] | None = None,
        allow_outside: bool | None = None,  # None is no: only folders with tables in them have paths
        split_seed: int | None = None,  # of the splits, where it is not the seed of the run
        decode: Decode | None = None,  # images once, or live: whenever they are needed; None: by what their pixels take
    ) -> None:
        self.seed = seed if split_seed is None else split_seed
        self.choice, self.columns = ColumnChoice(path_column, label_column), columns
        self.allow_outside = bool(allow_outside)
        self.path = Path(path).expanduser()
        self.size, self.validation, self.test, self.strict = size, validation, test, strict
        self.groups = None if groups is None else Path(groups).expanduser()
        self.decode = decode

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        say("folder: these are your own images; name them with --set path=FOLDER")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        raise UserError("folder: say which one: fairflac data check FOLDER")

    def listing(self) -> Listing:
        return list_folder(self.path, self.columns, self.allow_outside, self.choice)


def list_folder(
    path: Path, columns: Sequence[str] | None = None, allow_outside: bool = False, choice: ColumnChoice = USUAL
) -> Listing:
    """Class folders, `path/<class>/…` or `path/{train,val,test}/<class>/…`, or whatever table there is instead."""
    sheet = folder_sheet(path, choice)
    if sheet is not None:
        return list_sheet(sheet, columns, allow_outside, choice)
    if choice or columns:
        named = choice.label or choice.path or (columns or ("",))[0]
        raise UserError(f"'{named}' names a column, and '{path}' is a folder of images, which has no columns")
    return _list_classes(path)


def folder_sheet(path: Path, choice: ColumnChoice = USUAL) -> Sheet | None:
    """The table that a folder holds: of `datasets`, or Parquet, Arrow or tar files. None: folders are classes."""
    if not path.exists():
        raise UserError(f"there is no folder '{path}': check the path")
    if not path.is_dir():
        raise UserError(f"'{path}' is not a folder: give one with a subfolder of images for each class, or take csv")
    return read_saved(path) or _metadata(path, choice) or (None if _has_images(path) else read_shards(path))


def _has_images(path: Path) -> bool:
    return any(map(looks_like_image, visible_files(path)))


def _metadata(path: Path, choice: ColumnChoice) -> Sheet | None:
    """Of an image folder of `datasets`, at its top or in each split; None: there is none, or it has no labels."""
    if (top := _metadata_file(path)) is not None:
        sheet = read_sheet(top, choice)
        return sheet if _is_labelled(sheet, choice) else None
    parts, _ = _split_folders(path)
    files = [_metadata_file(path / part) for part in parts]
    sheets = [read_sheet(file, choice) for file in files if file is not None]
    if not sheets or len(sheets) < len(parts) or not all(_is_labelled(sheet, choice) for sheet in sheets):
        return None
    for part, sheet in zip(parts, sheets, strict=True):
        for row in sheet.rows:
            row |= {FILE_NAME: f"{part}/{row[FILE_NAME]}", SPLIT: part}
    return join_sheets(path, path, [replace(sheet, header=[*sheet.header, SPLIT]) for sheet in sheets])


def _is_labelled(sheet: Sheet, choice: ColumnChoice) -> bool:
    known = choice.label is not None or any(name.lower() in (LABEL, *LABELS) for name in sheet.header)
    return known and FILE_NAME in sheet.header


def _metadata_file(folder: Path) -> Path | None:
    return next((folder / name for name in METADATA if (folder / name).is_file()), None)


def _list_classes(path: Path) -> Listing:
    """Hidden files and folders do not count."""
    tree = _Tree(path)
    parts, notes = _split_folders(path)
    names, labels, splits = [], [], []
    loose: dict[Path, int] = {}
    for parent in [path / part for part in parts] or [path]:
        for entry in _entries(parent):
            if entry.is_dir():
                for file in tree.files(entry):
                    names.append(file.relative_to(path).as_posix())
                    labels.append(normalize("NFC", entry.name))
                    splits.append(SPLITS.get(parent.name.lower(), "train"))
            elif looks_like_image(entry):
                loose[parent] = loose.get(parent, 0) + 1
    if not names:
        raise UserError(_no_images(path, loose))
    notes += [
        f"{_files(count)} directly in '{parent}', in no folder of a class: left out" for parent, count in loose.items()
    ]
    if tree.passed_over:
        some = ", ".join(f"'{link}'" for link in tree.passed_over[:NAMED])
        notes.append(f"links to folders that are read anyway are not followed: {some}")
    return Listing(path, path, names, labels, splits if parts else None, notes=tuple(notes))


def _split_folders(path: Path) -> tuple[list[str], list[str]]:
    """The folders that are splits, none where they are classes; and what is to be said about it."""
    top = [entry.name for entry in _entries(path) if entry.is_dir()]
    named = [name for name in top if name.lower() in SPLITS]
    kinds = {SPLITS[name.lower()] for name in named}
    others = [name for name in top if name not in named]
    if "train" not in kinds or (others and len(kinds) == 1):  # a train may be a vehicle
        return [], []
    if used := [name for name in others if any(map(looks_like_image, _Tree(path).files(path / name)))]:
        raise UserError(
            f"'{path}' has {' and '.join(named)}, which look like splits, beside {', '.join(used)}: move that away or "
            f"into a split, or rename {' and '.join(named)} if they are classes"
        )
    return named, [f"no images in {', '.join(others)}, which is no split: left out"] if others else []


def _no_images(path: Path, loose: dict[Path, int]) -> str:
    if not loose:
        return f"'{path}' has no images: expected {path.name}/<class>/*.jpg"
    parent, count = next(iter(loose.items()))
    return (
        f"{_files(count)} directly in '{parent}', and nothing says their class: sort them into a folder for each "
        f"class, '{parent}/<class>', or list them in a CSV file with the columns path, label and split "
        f"('fairflac data make-csv {parent}' makes one of names such as climbing_12.jpg)"
    )


def _files(count: int) -> str:
    return "1 image lies" if count == 1 else f"{count:,} images lie"


def looks_like_image(path: Path) -> bool:
    return path.suffix.lower() in Image.registered_extensions()


def _entries(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


class _Tree:
    """The files below a folder. Links are followed, but each real folder is read once: a loop ends, and no image is
    there twice because of a link."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.seen = {_identity(top)}
        self.passed_over: list[str] = []  # links that lead to what is there anyway

    @cached_property
    def _own(self) -> set[tuple[int, int]]:
        """The folders that need no link."""
        return {_identity(Path(folder)) for folder, _, _ in os.walk(self.top)}

    def files(self, folder: Path) -> Iterator[Path]:
        """At any depth, in an order that does not depend on the file system."""
        waiting = [folder]
        while waiting:
            entry = waiting.pop()
            if not entry.is_dir():
                yield entry
            elif self._is_new(entry):
                waiting += reversed(_entries(entry))

    def _is_new(self, folder: Path) -> bool:
        identity = _identity(folder)
        if identity in self.seen or (folder.is_symlink() and identity in self._own):
            self.passed_over.append(folder.relative_to(self.top).as_posix())
            return False
        self.seen.add(identity)
        return True


def _identity(folder: Path) -> tuple[int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino
