"""Any folder of images with a subfolder for each class."""

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, final
from unicodedata import normalize

from PIL import Image
from pydantic import Field

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.own.listing import FRAMING, SPLITS, Listing, ReadOptions, read_split
from fairflac.data.pixels.cache import NAMED
from fairflac.errors import UserError

Size = Annotated[int, Field(ge=8, le=1024)]
Share = Annotated[float, Field(ge=0, lt=1)]


@final
class Folder(Dataset):
    """Your own images: a folder with a subfolder for each class (`--set path=FOLDER`).

    Input: `size` x `size` RGB, the largest centred square of each image; any format that Pillow opens.
    Class: the names of the subfolders.
    Bias: not known.
    Splits: `train`, `val` and `test` folders where there are such, else a share `validation` and a share `test` of each
        class, chosen by content and seed: copies of an image stay together.
    Source: `path`.
    Licence: yours.
    """

    name: ClassVar[str] = "folder"
    attributes: ClassVar[tuple[str, ...] | None] = ()
    framing = FRAMING

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
    ) -> None:
        self.seed = seed
        self.path = Path(path).expanduser()
        self.size, self.validation, self.test, self.strict = size, validation, test, strict
        self.groups = None if groups is None else Path(groups).expanduser()

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        say("folder: these are your own images; name them with --set path=FOLDER")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        raise UserError("folder: say which one: fairflac data check FOLDER")

    def listing(self) -> Listing:
        return list_folder(self.path)

    def reading(self, root: Path) -> ReadOptions:
        return ReadOptions(self.size, self.seed, self.validation, self.test, root / "cache", self.strict)

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        return read_split(self.listing(), self.reading(root), split)


def list_folder(path: Path) -> Listing:
    """`path/<class>/…` or `path/{train,val,test}/<class>/…`; hidden files and folders do not count."""
    if not path.exists():
        raise UserError(f"there is no folder '{path}': check the path")
    if not path.is_dir():
        raise UserError(f"'{path}' is not a folder: give one with a subfolder of images for each class, or take csv")
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
            elif _looks_like_image(entry):
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
    if used := [name for name in others if any(map(_looks_like_image, _Tree(path).files(path / name)))]:
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
        f"class, '{parent}/<class>', or list them in a CSV file with the columns path, label and split"
    )


def _files(count: int) -> str:
    return "1 image lies" if count == 1 else f"{count:,} images lie"


def _looks_like_image(path: Path) -> bool:
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
