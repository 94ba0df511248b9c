"""Images listed in a CSV file."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, final

from fairflac.data.base import BiasedDataset, Dataset, Split
from fairflac.data.folder import Share, Size
from fairflac.data.listing import FRAMING, SPLITS, Listing, Reading, read_split
from fairflac.errors import UserError, unknown

NEEDED = ("path", "label")


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
    ) -> None:
        self.seed = seed
        self.path = Path(path).expanduser()
        self.columns, self.allow_outside = columns, allow_outside
        self.size, self.validation, self.test, self.strict = size, validation, test, strict

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        say("csv: these are your own images; name the table with --set path=FILE.csv")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        raise UserError("csv: say which one: fairflac data check FILE.csv")

    def load(self, root: Path, split: Split) -> BiasedDataset | None:
        reading = Reading(self.size, self.seed, self.validation, self.test, root / "cache", self.strict)
        return read_split(list_table(self.path, self.columns, self.allow_outside), reading, split)


def list_table(path: Path, columns: tuple[str, ...] | None = None, allow_outside: bool = False) -> Listing:
    """What the file says, checked line by line."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            header, rows = list(reader.fieldnames or ()), list(reader)
    except FileNotFoundError:
        raise UserError(f"there is no file '{path}': check the path") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"'{path}' cannot be read as a CSV file in UTF-8: {error}") from error
    for column in NEEDED:
        if column not in header:
            raise UserError(f"'{path}' has no column '{column}': it has {', '.join(header) or 'no columns'}")
    others = [name for name in header if name not in (*NEEDED, "split")]
    for name in columns or ():
        if name not in others:
            unknown(f"attribute column in '{path}'", name, others)
    chosen = others if columns is None else list(columns)
    if not rows:
        raise UserError(f"'{path}' lists no images")
    for number, row in enumerate(rows, start=2):
        _check_row(
            path, number, row, ["path", "label", *chosen, *(["split"] if "split" in header else [])], allow_outside
        )
    return Listing(
        folder=path.parent,
        names=[row["path"] for row in rows],
        labels=[row["label"] for row in rows],
        splits=[SPLITS[row["split"].lower()] for row in rows] if "split" in header else None,
        attributes={name: [row[name] for row in rows] for name in chosen},
    )


def _check_row(path: Path, number: int, row: dict[str, str], needed: list[str], allow_outside: bool) -> None:
    where = f"line {number} of '{path}'"
    for column in needed:
        if not row.get(column):
            raise UserError(f"{where} has nothing in column '{column}': fill it in, or remove the line")
    if "split" in needed and row["split"].lower() not in SPLITS:
        raise UserError(f"{where}: split '{row['split']}' is none of train, val and test")
    image = (path.parent / row["path"]).resolve()
    if not allow_outside and not image.is_relative_to(path.parent.resolve()):
        raise UserError(
            f"{where}: '{row['path']}' is outside of '{path.parent}': move the image there, or set allow_outside=true"
        )
