"""Images inside the rows of Parquet and Arrow files, read in place.

`photos.parquet#image:17` is the image in column `image` of row 17. Such a name goes wherever the path of an image file
goes, so that nothing has to be unpacked. So does that of an image in a tar file.
"""

import re
from bisect import bisect_right
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from fairflac.data.pixels.decode import Unreadable
from fairflac.data.pixels.tars import TarMember, tar_member
from fairflac.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".arrow", ".feather")
AT_ONCE = 64  # rows of a Parquet file that are in memory
OPEN = 16  # files at a time
_NAME = re.compile(r"(?P<file>.+\.(?:parquet|arrow|feather))#(?P<column>[^/#]*):(?P<row>\d+)", re.IGNORECASE)


class ImageRow(NamedTuple):
    """Where an image is."""

    file: str
    column: str
    row: int  # from 0, as `datasets` counts

    def __str__(self) -> str:
        return f"{self.file}#{quote(self.column, safe='')}:{self.row}"


def image_row(path: Path | str) -> ImageRow | TarMember | None:
    """None: an ordinary file."""
    name = str(path)
    if "#" not in name:
        return None
    found = _NAME.fullmatch(name)
    return tar_member(name) if found is None else ImageRow(found["file"], unquote(found["column"]), int(found["row"]))


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
    """Reads the bytes of one image after the other, for one thread at a time.

    Going forwards is cheap, whatever the size of the file; going anywhere is so in Arrow files alone.
    """

    def __init__(self) -> None:
        self.opened: OrderedDict[tuple[str, str], _ParquetColumn | _ArrowColumn] = OrderedDict()
        self.lock = Lock()

    def __call__(self, where: ImageRow) -> bytes:
        pa = pyarrow_or_why()
        with self.lock:
            try:
                value = self._column(where)[where.row]
            except (OSError, ValueError, pa.ArrowException, KeyError, IndexError, StopIteration, SystemError) as error:
                self.opened.pop(where[:2], None)
                raise Unreadable(f"{getattr(error, 'strerror', None) or error}") from error
        return _content(value)

    def _column(self, where: ImageRow) -> "_ParquetColumn | _ArrowColumn":
        """Opened, if it was not among the last few that were asked."""
        key = where[:2]
        if key not in self.opened:
            if len(self.opened) == OPEN:
                self.opened.popitem(last=False)
            kind = _ParquetColumn if where.file.lower().endswith(".parquet") else _ArrowColumn
            self.opened[key] = kind(where.file, where.column)
        self.opened.move_to_end(key)
        return self.opened[key]


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
