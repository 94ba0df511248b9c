"""`groups.csv`: guessed attribute values of a user's images, which people look at, correct, and give back."""

import csv
import io
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairflac.data.own.csv_file import NEEDED, list_table, read_csv
from fairflac.data.own.listing import Listing
from fairflac.errors import UserError
from fairflac.system.files import write_text

GUESS = "guess"  # the column of the first attribute that was found


def write_groups(path: Path, listing: Listing, columns: Mapping[str, Sequence[str]]) -> None:
    """A table that is a dataset too (`csv`): paths are relative to its folder."""
    home = os.path.realpath(path.parent)
    places = [os.path.relpath(os.path.realpath(listing.folder / name), home) for name in listing.names]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*NEEDED, *columns])
    writer.writerows(zip(map(Path.as_posix, map(Path, places)), listing.labels, *columns.values(), strict=True))
    write_text(path, stream.getvalue())


def has_guesses(table: Path) -> bool:
    return table.is_file() and GUESS in read_csv(table).header


def check_groups(table: Path, photos: Listing, column: str = GUESS) -> None:
    """All that a person who edited the table may have got wrong, before anything is trained."""
    found = list_table(table, (column,), allow_outside=True)
    known = {
        os.path.realpath(photos.folder / name): label for name, label in zip(photos.names, photos.labels, strict=True)
    }
    for name, label in zip(found.names, found.labels, strict=True):
        place = os.path.realpath(found.folder / name)
        if place not in known:
            raise UserError(
                f"'{name}' in '{table}' is none of the images of '{photos.source}': remove the line, or give the "
                "images that the table was made from"
            )
        if known[place] != label:
            raise UserError(
                f"'{name}' in '{table}' is of class '{label}', and in '{photos.source}' of '{known[place]}'"
            )
    counts = Counter(found.attributes[column])
    if len(counts) < 2:
        raise UserError(f"column '{column}' of '{table}' has one value alone, '{next(iter(counts))}': two are needed")
    rare = next((value for value, count in counts.items() if count == 1), None)
    if rare is not None:
        others = ", ".join(f"'{value}'" for value, count in counts.most_common(3) if count > 1)
        raise UserError(
            f"column '{column}' of '{table}' has the unknown value '{rare}', of one image alone: "
            f"{f'give it one of {others}' if others else 'every value needs two images or more'}"
        )
