"""Any folder of images with a subfolder for each class."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, ClassVar, final

from pydantic import Field

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.listing import FRAMING, SPLITS, Listing, Reading, read_split
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
    ) -> None:
        self.seed = seed
        self.path = Path(path).expanduser()
        self.size, self.validation, self.test, self.strict = size, validation, test, strict

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        say("folder: these are your own images; name them with --set path=FOLDER")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        raise UserError("folder: say which one: fairflac data check FOLDER")

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        reading = Reading(self.size, self.seed, self.validation, self.test, root / "cache", self.strict)
        return read_split(list_folder(self.path), reading, split)


def list_folder(path: Path) -> Listing:
    """`path/<class>/…` or `path/{train,val,test}/<class>/…`; hidden files and folders do not count."""
    if not path.is_dir():
        raise UserError(f"'{path}' is not a folder: give one with a subfolder of images for each class")
    top = [entry.name for entry in _entries(path) if entry.is_dir()]
    has_splits = (
        bool(top) and all(name.lower() in SPLITS for name in top) and any(SPLITS[n.lower()] == "train" for n in top)
    )
    names, labels, splits = [], [], []
    for part in top if has_splits else [""]:
        for folder in _entries(path / part):
            for file in _files(folder) if folder.is_dir() else ():
                names.append(file.relative_to(path).as_posix())
                labels.append(folder.name)
                splits.append(SPLITS.get(part.lower(), "train"))
    if not names:
        raise UserError(f"'{path}' has no images: expected {path.name}/<class>/*.jpg")
    return Listing(path, names, labels, splits if has_splits else None)


def _entries(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def _files(folder: Path) -> Iterator[Path]:
    """At any depth, in an order that does not depend on the file system."""
    for entry in _entries(folder):
        if entry.is_dir():
            yield from _files(entry)
        else:
            yield entry
