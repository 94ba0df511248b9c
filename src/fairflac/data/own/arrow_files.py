"""Images in Parquet and Arrow files: one file, or what `datasets` saved. They stay where they are.

`datasets` is not needed: its folders are Arrow files and a few lines of JSON.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairflac.data.own.listing import SPLITS
from fairflac.data.own.sheet import SPLIT, Sheet, join_sheets
from fairflac.data.pixels.rows import AT_ONCE, ImageRow, arrow_table, pyarrow_or_why
from fairflac.errors import UserError
from fairflac.system.parse import parse_json

if TYPE_CHECKING:
    import pyarrow as pa

SAVED, SAVED_SPLITS = "state.json", "dataset_dict.json"  # by `save_to_disk`
IMAGE, TEXT = "image", "text"
METADATA = b"huggingface"  # in a schema: what `datasets` knows of the columns


def read_arrow(path: Path, name: str | None = None, split: str | None = None) -> Sheet:
    """One Parquet or Arrow file; `name`: relative to the folder that paths are relative to."""
    pa = pyarrow_or_why()
    try:
        return _read(path, name or path.name, split)
    except FileNotFoundError:
        raise UserError(f"there is no file '{path}': check the path") from None
    except IsADirectoryError:
        raise UserError(f"'{path}' is a folder, and its name is that of a file: rename it") from None
    # Of text that is none pyarrow makes a ValueError, and of sizes that are none a SystemError.
    except (OSError, ValueError, SystemError, pa.ArrowException) as error:
        kind = "Parquet" if path.suffix.lower() == ".parquet" else "Arrow"
        raise UserError(f"'{path}' cannot be read as {kind}: {str(error).partition(chr(10))[0]}") from None


def read_saved(folder: Path) -> Sheet | None:
    """What `save_to_disk` left, of one `Dataset` or of a `DatasetDict`; None: it did not."""
    parts: list[tuple[Path, str | None]]
    if (folder / SAVED_SPLITS).is_file():
        names = map(str, _json(folder / SAVED_SPLITS, "splits"))
        parts = [(folder / name, split_in(name) or name) for name in names]
    elif (folder / SAVED).is_file():
        parts = [(folder, None)]
    else:
        return None
    shards = []
    for part, split in parts:
        files = [part / Path(str(one["filename"])).name for one in _json(part / SAVED, "_data_files")]
        shards += [read_arrow(file, file.relative_to(folder).as_posix(), split) for file in files]
    if not shards:
        raise UserError(f"'{folder}' lists no files of data: save the dataset again with save_to_disk")
    return join_sheets(folder, folder, shards)


def split_in(name: str) -> str | None:
    """`data/train-00000-of-00002.parquet` is of train; what stands nearest to the end of the path counts."""
    words = re.split(r"[^a-z]+", name.lower())
    return next((word for word in reversed(words) if word in SPLITS), None)


def _json(path: Path, key: str) -> list[Any]:
    try:
        found = parse_json(path.read_text())[key]
        if isinstance(found, list) and all(isinstance(one, str) or "filename" in one for one in found):
            return found
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise UserError(f"'{path}' is damaged: save the dataset again with save_to_disk")


def _read(path: Path, name: str, split: str | None) -> Sheet:
    file = _File(path)
    kinds = {column.name: _kind_of(column.type) for column in file.schema}
    if len(kinds) < len(file.schema):
        twice = next(column for column, count in Counter(file.schema.names).items() if count > 1)
        raise UserError(f"'{path}' has the column '{twice}' twice: rename one")
    images = tuple(column for column, kind in kinds.items() if kind == IMAGE)
    classes = _class_names(file)
    table = file.read([column for column, kind in kinds.items() if kind == TEXT])
    columns = {column: _texts(path, column, table[column], classes.get(column)) for column in table.column_names}
    columns |= {column: _image_cells(file, name, column) for column in images}
    if split is not None and SPLIT not in columns:
        columns[SPLIT] = [split] * file.rows
    return Sheet(
        source=path,
        folder=path.parent,
        header=list(columns),
        rows=[dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)],
        where=lambda place: f"row {place} of '{path}'",
        images=images,
        named_classes=tuple(column for column in classes if column in columns),
        unusable={column: kind for column, kind in kinds.items() if kind not in (IMAGE, TEXT)},
        typed=True,
    )


class _File:
    """Parquet or Arrow."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parquet: Any = None
        self.table: Any = None
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            self.parquet = pq.ParquetFile(path, memory_map=True)
            self.schema, self.rows = self.parquet.schema_arrow, self.parquet.metadata.num_rows
        else:
            self.table = arrow_table(path)
            self.schema, self.rows = self.table.schema, self.table.num_rows

    def read(self, columns: Sequence[str]) -> "pa.Table":
        return self.table.select(columns) if self.parquet is None else self.parquet.read(columns=columns)

    def first(self, column: str) -> list[Any]:
        """A few values."""
        if self.parquet is None:
            return list(self.table[column].slice(0, AT_ONCE).to_pylist())
        batch = next(self.parquet.iter_batches(AT_ONCE, columns=[column]), None)
        return [] if batch is None else list(batch.column(column).to_pylist())


def _kind_of(kind: "pa.DataType") -> str:
    """`IMAGE`, `TEXT`, or what else it is."""
    from pyarrow import types

    if types.is_binary(kind) or types.is_large_binary(kind):
        return IMAGE
    if types.is_struct(kind):
        fields = {kind.field(number).name: kind.field(number).type for number in range(kind.num_fields)}
        return IMAGE if "bytes" in fields and _kind_of(fields["bytes"]) == IMAGE else "a record of several values"
    if types.is_dictionary(kind):
        return _kind_of(kind.value_type)
    plain = (
        types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean, types.is_decimal,
        types.is_temporal, types.is_null,
    )  # fmt: skip
    if any(check(kind) for check in plain):
        return TEXT
    return "a list of values" if types.is_nested(kind) else f"of the type {kind}"


def _class_names(file: _File) -> dict[str, list[str]]:
    """By column, where `datasets` wrote down what numbers mean: in the schema, or in a file beside it."""
    notes = (file.schema.metadata or {}).get(METADATA, b"{}")
    try:
        features = parse_json(notes).get("info", {}).get("features") or {}
        beside = file.path.parent / "dataset_info.json"
        if not features and beside.is_file():
            features = parse_json(beside.read_text()).get("features") or {}
        return {
            name: list(map(str, one["names"]))
            for name, one in features.items()
            if isinstance(one, dict) and one.get("_type") == "ClassLabel" and one.get("names")
        }
    except (ValueError, AttributeError, TypeError, KeyError):
        return {}  # notes that nobody understands are none


def _texts(path: Path, column: str, values: "pa.ChunkedArray", names: list[str] | None) -> list[str]:
    """A column as text; numbers of classes by their names, and what is not there empty."""
    if names is None:
        return [_text(value) for value in values.to_pylist()]
    texts = []
    for row, value in enumerate(values.to_pylist()):
        if isinstance(value, int) and value >= len(names):
            raise UserError(f"row {row} of '{path}': {column} is {value}, and there are {len(names)} names of classes")
        known = isinstance(value, int) and value >= 0  # -1 says that nobody knows
        texts.append(names[value].strip() if known else _text(value) if isinstance(value, str) else "")
    return texts


def _text(value: Any) -> str:
    if value is None or value != value:  # NaN is how tables of numbers write a gap
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _image_cells(file: _File, name: str, column: str) -> list[str]:
    """Where the image of each row is: in the row itself; or in a file, where `datasets` noted the path alone."""
    some = [value for value in file.first(column) if value is not None]
    by_path = bool(some) and all(isinstance(one, dict) and one["bytes"] is None and one.get("path") for one in some)
    if not by_path:
        first = str(ImageRow(name, column, 0)).removesuffix("0")
        return [f"{first}{row}" for row in range(file.rows)]
    return [(value or {}).get("path") or "" for value in file.read([column])[column].to_pylist()]
