"""Images inside the rows of Parquet and Arrow files, read in place.

`photos.parquet#image:17` is the image in column `image` of row 17. Such a name goes wherever the path of an image file
goes, so that nothing has to be unpacked.
"""

import re
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from fairflac.data.pixels.decode import Unreadable
from fairflac.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".arrow", ".feather")
AT_ONCE = 64  # rows of a Parquet file that are in memory
_NAME = re.compile(r"(?P<file>.+\.(?:parquet|arrow|feather))#(?P<column>[^/#]*):(?P<row>\d+)", re.IGNORECASE)


class ImageRow(NamedTuple):
    """Where an image is."""

    file: str
    column: str
    row: int  # from 0, as `datasets` counts

    def __str__(self) -> str:
        return f"{self.file}#{quote(self.column, safe='')}:{self.row}"


def image_row(path: Path | str) -> ImageRow | None:
    """None: an ordinary file."""
    found = _NAME.fullmatch(str(path)) if "#" in str(path) else None
    return found and ImageRow(found["file"], unquote(found["column"]), int(found["row"]))


def pyarrow_or_why() -> Any:
    """The package, or one line on how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise UserError(
            "Parquet and Arrow files need pyarrow, which is not installed: pip install 'fairflac[parquet]'"
        ) from None
    return pyarrow


class RowReader:
    """Reads the bytes of one image after the other. Going forwards is cheap, whatever the size of the file."""

    def __init__(self) -> None:
        self.column: _ParquetColumn | _ArrowColumn | None = None
        self.opened = ("", "")

    def __call__(self, where: ImageRow) -> bytes:
        pa = pyarrow_or_why()
        try:
            if self.column is None or self.opened != where[:2]:
                parquet = where.file.lower().endswith(".parquet")
                self.column = (_ParquetColumn if parquet else _ArrowColumn)(where.file, where.column)
                self.opened = where[:2]
            value = self.column[where.row]
        except (OSError, pa.ArrowException, KeyError, IndexError) as error:
            self.column = None
            raise Unreadable(f"{getattr(error, 'strerror', None) or error}") from error
        return _content(value)


def _content(value: Any) -> bytes:
    path = None
    if isinstance(value, dict):
        value, path = value.get("bytes"), value.get("path")
    if isinstance(value, bytes) and value:
        return value
    raise Unreadable("no image in this row" + (f", only the path '{path}'" if path else ""))


class _ParquetColumn:
    """Rows are decoded a few at a time, in the group of rows where they are."""

    def __init__(self, file: str, column: str) -> None:
        import pyarrow.parquet as pq

        self.file: pq.ParquetFile = pq.ParquetFile(file, memory_map=True)
        self.column = column
        groups = self.file.metadata
        sizes = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        self.group, self.first = -1, 0
        self.rows: pa.Array | None = None

    def __getitem__(self, row: int) -> Any:
        if row >= self.starts[-1]:
            raise IndexError(f"there are {self.starts[-1]} rows")
        group = bisect_right(self.starts, row) - 1
        if self.rows is None or group != self.group or row < self.first:
            self.batches = self.file.iter_batches(AT_ONCE, row_groups=[group], columns=[self.column])
            self.group, self.first = group, self.starts[group]
            self.rows = self._next()
        while row >= self.first + len(self.rows):
            self.first += len(self.rows)
            self.rows = self._next()
        return self.rows[row - self.first].as_py()

    def _next(self) -> "pa.Array":
        return next(self.batches).column(self.column)


class _ArrowColumn:
    """The file is mapped into memory: any row is at hand, and what is not looked at is not read."""

    def __init__(self, file: str, column: str) -> None:
        self.values = arrow_table(Path(file))[column]

    def __getitem__(self, row: int) -> Any:
        return self.values[row].as_py()


def arrow_table(path: Path) -> "pa.Table":
    """An Arrow file of either format: with an index at its end, or as it was streamed, which `datasets` writes."""
    pa = pyarrow_or_why()
    mapped = pa.memory_map(str(path))
    try:
        reader = pa.ipc.open_file(mapped)
    except pa.ArrowInvalid:
        mapped.seek(0)
        reader = pa.ipc.open_stream(mapped)
    return reader.read_all()
