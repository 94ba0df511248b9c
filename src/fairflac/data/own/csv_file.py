"""Images listed in a table: a CSV file, JSON lines, or a Parquet, Arrow or tar file, which holds them itself."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, final

from fairflac.data.own.arrow_files import read_arrow
from fairflac.data.own.listing import Listing, OwnImages, Share, Size
from fairflac.data.own.sheet import LABEL, LABELS, PATH, PATHS, USUAL, ColumnChoice, Sheet, list_sheet
from fairflac.data.own.tar_files import read_tar
from fairflac.data.pixels.live import Decode
from fairflac.data.pixels.rows import ENDINGS
from fairflac.data.pixels.tars import TAR
from fairflac.errors import UserError
from fairflac.system.parse import parse_json
from fairflac.system.tables import csv_name

NEEDED = (PATH, LABEL)
SEPARATORS = (",", ";", "\t", "|")
JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", *JSON_LINES, *ENDINGS, TAR)  # how files end that list images, where any file may be given


@final
class Table(OwnImages):
    """Your own images in a CSV or Parquet file: path, label and, if you like, split and attributes (`--set path=FILE`).

    Input: `size` x `size` RGB, the largest centred square of each image; any format that Pillow opens.
    Class: the column `label`, or the one that `label_column` names.
    Bias: every further column, or those named in `columns`.
    Splits: the column `split` (train, val, test) where there is one, else as for a folder.
    Source: `path`; its column `path`, or `path_column`, has paths of files, or in Parquet the images themselves. Paths
        are relative to the file's folder, and stay under it unless `allow_outside`.
    Licence: yours.
    """

    name: ClassVar[str] = "csv"

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
        path_column: str | None = None,
        label_column: str | None = None,
        split_seed: int | None = None,  # of the splits, where it is not the seed of the run
        decode: Decode | None = None,  # images once, or live: whenever they are needed; None: by what their pixels take
    ) -> None:
        self.seed = seed if split_seed is None else split_seed
        self.choice = ColumnChoice(path_column, label_column)
        self.path = Path(path).expanduser()
        self.columns, self.allow_outside = columns, allow_outside
        self.size, self.validation, self.test, self.strict = size, validation, test, strict
        self.groups = None if groups is None else Path(groups).expanduser()
        self.decode = decode

    @classmethod
    def get(cls, root: Path, source: Path | None, say: Callable[[str], None]) -> None:
        say("csv: these are your own images; name the table with --set path=FILE.csv")

    @classmethod
    def check(cls, root: Path) -> list[str]:
        raise UserError("csv: say which one: fairflac data check FILE.csv")

    def listing(self) -> Listing:
        return list_table(self.path, self.columns, self.allow_outside, self.choice)


def list_table(
    path: Path, columns: Sequence[str] | None = None, allow_outside: bool = False, choice: ColumnChoice = USUAL
) -> Listing:
    """What the file says, checked line by line."""
    return list_sheet(read_sheet(path, choice), columns, allow_outside, choice)


def read_sheet(path: Path, choice: ColumnChoice = USUAL) -> Sheet:
    """By the ending of the file; what is neither Parquet nor Arrow nor tar nor JSON lines is CSV."""
    if path.suffix.lower() in ENDINGS:
        return read_arrow(path)
    if path.suffix.lower() == TAR:
        return read_tar(path)
    return read_json_lines(path) if path.suffix.lower() in JSON_LINES else read_csv(path, choice)


def read_csv(path: Path, choice: ColumnChoice = USUAL) -> Sheet:
    """Separated by commas, semicolons, tabs or bars, whichever gives the columns that are needed."""
    text = _text(path)
    separator = _separator(text, choice)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    header: list[str] = []
    rows: list[dict[str, str]] = []
    lines: list[int] = []  # where each row ends in the file
    try:
        for values in reader:
            cells = [csv_name(cell.strip()) for cell in values]
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
    return Sheet(path, path.parent, header, rows, lambda place: f"line {lines[place]} of '{path}'")


def read_json_lines(path: Path) -> Sheet:
    """An object in each line, `{"file_name": "1.jpg", "label": "cat"}`; what is nested is no column."""
    rows: list[dict[str, str]] = []
    lines: list[int] = []
    columns: dict[str, None] = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = parse_json(line)
        except ValueError as error:
            raise UserError(f"line {number} of '{path}' is not valid JSON: {error}") from None
        if not isinstance(found, dict):
            raise UserError(f'line {number} of \'{path}\' is no JSON object: expected {{"file_name": …, "label": …}}')
        row = {key: _cell(value) for key, value in found.items() if not isinstance(value, dict | list)}
        columns |= dict.fromkeys(row)
        rows.append(row)
        lines.append(number)
    rows = [{name: row.get(name, "") for name in columns} for row in rows]
    return Sheet(path, path.parent, list(columns), rows, lambda place: f"line {lines[place]} of '{path}'")


def _cell(value: str | int | float | None) -> str:
    return "" if value is None else str(value).strip()


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


def _separator(text: str, choice: ColumnChoice) -> str:
    """The first that gives the columns we need, else the one that gives most."""
    paths = {choice.path} if choice.path else {PATH, *PATHS}
    labels = {choice.label} if choice.label else {LABEL, *LABELS}
    first = next((line for line in text.splitlines() if line.strip()), "")
    parsed = {one: [cell.strip() for cell in next(csv.reader([first], delimiter=one))] for one in SEPARATORS if first}
    fitting = (one for one, cells in parsed.items() if paths & {*cells} and labels & {*cells})
    return next(fitting, max(parsed, key=lambda one: len(parsed[one]), default=SEPARATORS[0]))


def _header(path: Path, cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells = cells[:-1]
    if twice := [name for name, count in Counter(cells).items() if count > 1]:
        raise UserError(f"'{path}' has the column '{twice[0]}' twice: rename one")
    return cells
