"""`groups.csv`: guessed attribute values of a user's images, which people look at, correct, and give back."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fairflac.data.base import BiasedDataset
from fairflac.data.own.csv_file import NEEDED, list_table, read_csv
from fairflac.data.own.listing import Listing
from fairflac.errors import UserError
from fairflac.metrics.groups import JOINT
from fairflac.system.files import write_text
from fairflac.system.tables import csv_text

GUESS = "guess"  # the column of the first attribute that was found
CONFIDENCE = "confidence"  # of the guess, from 1 / K to 1
GIVEN = "given"  # a column that says `yes` where a person gave the value


def write_groups(path: Path, listing: Listing, columns: Mapping[str, Sequence[str]]) -> None:
    """A table that is a dataset too (`csv`): paths are relative to its folder."""
    home = os.path.realpath(path.parent)
    places = [os.path.relpath(os.path.realpath(listing.folder / name), home) for name in listing.names]
    rows = zip(map(Path.as_posix, map(Path, places)), listing.labels, *columns.values(), strict=True)
    write_text(path, csv_text([[*NEEDED, *columns], *rows]))


def has_guesses(table: Path) -> bool:
    return table.is_file() and GUESS in read_csv(table).header


def check_groups(table: Path, photos: Listing, column: str = GUESS, called: Path | None = None) -> Listing:
    """All that a person who edited the table may have got wrong, before anything is trained; then what it lists.

    `called`: the file that the user knows, where the table is made from it.
    """
    known_as = called or table
    found = list_table(table, (column,), allow_outside=True)
    known = dict(zip(_places(photos.folder, photos.names), photos.labels, strict=True))
    said: dict[str, str] = {}
    rows = zip(found.names, _places(found.folder, found.names), found.labels, found.attributes[column], strict=True)
    for name, place, label, value in rows:
        if place not in known:
            raise UserError(
                f"'{name}' in '{known_as}' is none of the images of '{photos.source}': remove the line, or give the "
                "images that the table was made from"
            )
        if known[place] != label:
            raise UserError(
                f"'{name}' in '{known_as}' is of class '{label}', and in '{photos.source}' of '{known[place]}'"
            )
        if said.setdefault(place, value) != value:
            raise UserError(
                f"column '{column}' of '{known_as}' says both '{said[place]}' and '{value}' of '{name}': remove a line"
            )
    counts = Counter(found.attributes[column])
    if len(counts) < 2:
        raise UserError(
            f"column '{column}' of '{known_as}' has one value alone, '{next(iter(counts))}': two are needed"
        )
    rare = next((value for value, count in counts.items() if count == 1), None)
    if rare is not None:
        others = ", ".join(f"'{value}'" for value, count in counts.most_common(3) if count > 1)
        raise UserError(
            f"column '{column}' of '{known_as}' has the unknown value '{rare}', of one image alone: "
            f"{f'give it one of {others}' if others else 'every value needs two images or more'}"
        )
    return found


def _places(folder: Path, names: Sequence[str]) -> list[str]:
    """Where images lie, whatever a table calls them."""
    return [os.path.realpath(folder / name) for name in names]


def guessed_values(table: Path, photos: Listing, column: str = GUESS) -> tuple[np.ndarray, list[str]]:
    """(N,) the number of each image's value, -1 where the table has none; and what the values are called."""
    found = check_groups(table, photos, column)
    names = sorted(set(found.attributes[column]))
    known = dict(zip(_places(found.folder, found.names), found.attributes[column], strict=True))
    values = (known.get(place) for place in _places(photos.folder, photos.names))
    return np.array([-1 if value is None else names.index(value) for value in values], dtype=np.int64), names


def guess_columns(table: Path) -> list[str]:
    """`guess`, and `guess2` and so on where a second shortcut was found, and nobody removed it."""
    header, columns = read_csv(table).header, [GUESS]
    while (further := numbered(GUESS, len(columns) + 1)) in header:
        columns.append(further)
    return columns


def numbered(column: str, number: int) -> str:
    """Of the first attribute the name alone."""
    return column if number == 1 else f"{column}{number}"


def joined(values: Sequence[np.ndarray], names: Sequence[Sequence[str]]) -> tuple[np.ndarray, list[str]]:
    """Several attributes as one, whose values are the combinations that occur: (N,) each → (N,), -1 where one is -1.

    Trained against one of two shortcuts, a model leans on the other all the more (Li et al., CVPR 2023). A combination
    of one image alone counts as the most frequent one with the same first value.
    """
    if len(values) == 1:
        return values[0], list(names[0])
    known = np.all([part >= 0 for part in values], 0)
    combinations, code, count = np.unique(np.stack(values, 1)[known], axis=0, return_inverse=True, return_counts=True)
    for lone in np.flatnonzero(count == 1):
        alike = np.flatnonzero(combinations[:, 0] == combinations[lone, 0])
        code[code == lone] = alike[count[alike].argmax()]
    used, code = np.unique(code, return_inverse=True)
    joint = np.full(len(known), -1, dtype=np.int64)
    joint[known] = code
    return joint, [JOINT.join(own[place] for own, place in zip(names, row, strict=True)) for row in combinations[used]]


def with_guesses(data: BiasedDataset, table: Path, photos: Listing) -> BiasedDataset:
    """A split with the values of a table, which has to have those of all images that are trained on; of several
    attributes with their combinations."""
    values, names = zip(*(guessed_values(table, photos, column) for column in guess_columns(table)), strict=True)
    joint, called = joined(values, names)
    by_name = dict(zip(photos.names, joint.tolist(), strict=True))
    guess = np.array([by_name[str(name)] for name in data.names], dtype=np.int64)
    unknown = np.flatnonzero(guess < 0)
    if not len(unknown):
        return replace(data, guess=guess, guess_values=tuple(called))
    if data.split == "train":
        raise UserError(
            f"'{table}' has no {GUESS} for '{data.names[unknown[0]]}', which is trained on: add a line for it "
            "('fairflac debias' with attribute_from fills in what is missing)"
        )
    return data


def given_share(table: Path) -> float:
    """The share of the values that a person gave."""
    rows = read_csv(table).rows
    return sum(row.get(GIVEN) == "yes" for row in rows) / max(len(rows), 1)


def guess_confidence(table: Path, photos: Listing, names: Sequence[str]) -> np.ndarray:
    """(N,) of images by their names in `photos`; 1 where the table does not say."""
    rows = read_csv(table).rows
    places = _places(table.parent, [row["path"] for row in rows])
    known = {place: float(row.get(CONFIDENCE) or 1) for place, row in zip(places, rows, strict=True)}
    return np.array([known.get(place, 1.0) for place in _places(photos.folder, names)])
