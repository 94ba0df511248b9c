"""Tar files in the layout of WebDataset: an image is `KEY.jpg` (or another format), and what is known of it beside it.

`KEY.cls` holds its label, or `KEY.json` columns with the label among them, or `KEY.txt` the label. Nothing is unpacked.
"""

import tarfile
from pathlib import Path
from typing import Any

from PIL import Image

from fairflac.data.own.sheet import LABEL, LABELS, SPLIT, Sheet
from fairflac.data.pixels.tars import TarMember
from fairflac.errors import UserError
from fairflac.system.parse import parse_json

IMAGE, CLASS, TEXT, COLUMNS = "image", "cls", "txt", "json"
LARGEST = 1 << 20  # bytes of what is known of an image


def read_tar(path: Path, name: str | None = None, split: str | None = None) -> Sheet:
    """One file; `name`: relative to the folder that paths are relative to."""
    try:
        with tarfile.open(path, "r:") as archive:
            reader = _Reader(path, name or path.name, archive)
            for member in filter(tarfile.TarInfo.isreg, archive):
                reader.add(member)
    except FileNotFoundError:
        raise UserError(f"there is no file '{path}': check the path") from None
    except (OSError, tarfile.TarError) as error:
        raise UserError(
            f"'{path}' cannot be read as tar ({error}): give tar files that are whole and not compressed"
        ) from None
    samples = reader.samples
    known = {column: None for row in samples.values() for column in row}
    if not known.keys() & {LABEL, *LABELS} and TEXT in known:
        known = {LABEL if column == TEXT else column: None for column in known}
        for row in samples.values():
            row[LABEL] = row.pop(TEXT, "")
    header = [*dict.fromkeys([IMAGE, *known]), *([SPLIT] if split is not None and SPLIT not in known else [])]
    usual = dict.fromkeys(header, "") | ({} if split is None else {SPLIT: split})
    pictured = {key: row for key, row in samples.items() if IMAGE in row}  # what has no image is none of ours
    keys = list(pictured)
    return Sheet(
        source=path,
        folder=path.parent,
        header=header,
        rows=[usual | row for row in pictured.values()],
        where=lambda place: f"'{keys[place]}' in '{path}'",
        images=(IMAGE,),
        typed=True,
    )


class _Reader:
    """Samples of one archive, by their keys."""

    def __init__(self, path: Path, name: str, archive: tarfile.TarFile) -> None:
        self.path, self.name, self.archive = path, name, archive
        self.samples: dict[str, dict[str, str]] = {}

    def add(self, member: tarfile.TarInfo) -> None:
        """As WebDataset reads it: a key ends at the first dot of the name; what is hidden belongs to nobody."""
        name = member.name.removeprefix("./")
        parent, slash, base = name.rpartition("/")
        stem, _, ending = base.partition(".")
        if not stem:
            return
        key, ending = parent + slash + stem, ending.lower()
        row = self.samples.setdefault(key, {})
        if ending in (CLASS, TEXT):
            row[LABEL if ending == CLASS else TEXT] = self._content(member).strip()
        elif ending == COLUMNS:
            row |= {column: value for column, value in self._columns(member).items() if column not in row}
        elif f".{ending}" in Image.registered_extensions():
            if IMAGE in row:
                raise UserError(f"'{self.path}' has two images of the key '{key}': give each a key of its own")
            row[IMAGE] = str(TarMember(self.name, name, member.offset_data))

    def _content(self, member: tarfile.TarInfo) -> str:
        if member.size > LARGEST:
            raise UserError(f"'{member.name}' in '{self.path}' has {member.size:,} bytes, which is no label: remove it")
        stream = self.archive.extractfile(member)
        assert stream is not None  # of a regular file there is one
        try:
            return stream.read().decode()
        except UnicodeDecodeError:
            raise UserError(f"'{member.name}' in '{self.path}' is not in UTF-8: write it anew") from None

    def _columns(self, member: tarfile.TarInfo) -> dict[str, str]:
        try:
            found: Any = parse_json(self._content(member))
        except ValueError as error:
            raise UserError(f"'{member.name}' in '{self.path}' is not valid JSON: {error}") from None
        if not isinstance(found, dict):
            raise UserError(f"'{member.name}' in '{self.path}' is no JSON object: expected {{\"label\": …}}")
        plain = {key: value for key, value in found.items() if not isinstance(value, dict | list) and key != IMAGE}
        return {str(key): "" if value is None else str(value).strip() for key, value in plain.items()}
