"""CelebA's own text files: which images there are, in which part, with which of 40 attributes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairflac.errors import UserError

ATTRIBUTE_FILE, PARTITION_FILE = "list_attr_celeba.txt", "list_eval_partition.txt"
TRAIN, VALIDATION, TEST = 0, 1, 2  # as the partition file numbers them


@dataclass(frozen=True)
class Lists:
    """Sorted by name; all columns go together."""

    names: np.ndarray  # (N,) str, 000001.jpg
    partition: np.ndarray  # (N,) int64
    attributes: dict[str, np.ndarray]  # (N,) int64, 1 where an image has it


def read_lists(folder: Path, wanted: tuple[str, ...]) -> Lists:
    """Both files, which must speak of the same images."""
    attributes = _read_attributes(folder / ATTRIBUTE_FILE, wanted)
    partition = _read_partition(folder / PARTITION_FILE)
    if lonely := attributes.keys() ^ partition.keys():
        raise UserError(
            f"'{min(lonely)}' is in only one of {ATTRIBUTE_FILE} and {PARTITION_FILE} in '{folder}': fetch both again"
        )
    names = sorted(attributes)
    values = np.array([attributes[name] for name in names], dtype=np.int64).reshape(len(names), len(wanted))
    return Lists(
        names=np.array(names),
        partition=np.array([partition[name] for name in names], dtype=np.int64),
        attributes=dict(zip(wanted, values.T, strict=True)),
    )


def _read_attributes(path: Path, wanted: tuple[str, ...]) -> dict[str, list[bool]]:
    """A line with the number of images, one with the names of attributes, then an image with 1 or -1 for each."""
    lines = _lines(path)
    columns = lines[1].split() if len(lines) > 1 else []
    if missing := [name for name in wanted if name not in columns]:
        raise UserError(f"line 2 of '{path}' names no attribute {', '.join(missing)}: fetch the file again")
    places = [1 + columns.index(name) for name in wanted]
    found = {}
    for number, line in enumerate(lines[2:], start=3):
        fields = line.split()
        if len(fields) != 1 + len(columns) or any(fields[place] not in ("1", "-1") for place in places):
            raise UserError(f"line {number} of '{path}' is not a name and {len(columns)} times 1 or -1: fetch it again")
        found[fields[0]] = [fields[place] == "1" for place in places]
    return found


def _read_partition(path: Path) -> dict[str, int]:
    found = {}
    for number, line in enumerate(_lines(path), start=1):
        name, _, part = line.partition(" ")
        if part.strip() not in ("0", "1", "2"):
            raise UserError(f"line {number} of '{path}' is not a name and 0, 1 or 2: fetch the file again")
        found[name] = int(part)
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: 'fairflac data get celeba' says how to obtain it") from error
    except UnicodeDecodeError as error:
        raise UserError(f"'{path}' is not a text file: fetch it again") from error
