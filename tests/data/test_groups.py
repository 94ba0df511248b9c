"""groups.csv: written as a dataset, and what a person may have got wrong in it."""

from pathlib import Path

import numpy as np
import pytest

from fairflac.data.own.csv_file import list_table
from fairflac.data.own.folder import list_folder
from fairflac.data.own.groups import check_groups, has_guesses, joined, write_groups
from fairflac.data.own.listing import Listing
from fairflac.errors import UserError
from planted_bars import draw_folder


@pytest.fixture
def photos(tmp_path: Path) -> Listing:
    return list_folder(draw_folder(tmp_path / "photos", 4, 0.5))


@pytest.fixture
def table(photos: Listing, tmp_path: Path) -> Path:
    path = tmp_path / "out" / "groups.csv"
    guess = [Path(name).stem[-1] for name in photos.names]
    write_groups(path, photos, {"guess": [*guess[:-2], "0", "1"], "confidence": ["0.9"] * len(guess)})
    return path


def test_the_table_is_a_dataset(table: Path, photos: Listing) -> None:
    assert table.read_text().splitlines()[0] == "path,label,guess,confidence"
    found = list_table(table, ("guess",), allow_outside=True)
    assert found.labels == photos.labels
    places = [(table.parent / name).resolve() for name in found.names]
    assert places == [(photos.folder / name).resolve() for name in photos.names]
    check_groups(table, photos)
    assert has_guesses(table) and not has_guesses(table.with_name("nothing.csv"))


def test_fewer_lines_and_other_names_are_fine(table: Path, photos: Listing) -> None:
    lines = table.read_text().replace(",0,", ",red,").replace(",1,", ",blue,").splitlines()
    table.write_text("\n".join([lines[0], *lines[3:]]))
    check_groups(table, photos)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("lying/0000", "lying/nobody", "is none of the images of"),
        (",lying,", ",standing,", "is of class 'standing', and in"),
        (",0,0.9\n", ",1,0.9\n", "has one value alone, '1'"),
    ],
)
def test_mistakes_are_named(old: str, new: str, part: str, table: Path, photos: Listing) -> None:
    table.write_text(table.read_text().replace(old, new))
    with pytest.raises(UserError) as error:
        check_groups(table, photos)
    assert part in str(error.value)


def test_an_image_has_one_value(table: Path, photos: Listing) -> None:
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines, lines[2]]))
    check_groups(table, photos)  # said twice
    table.write_text("\n".join([*lines, lines[2].replace(",0,", ",1,")]))
    with pytest.raises(UserError, match="says both '0' and '1' of"):
        check_groups(table, photos)


def test_a_value_of_one_image_is_a_slip(table: Path, photos: Listing) -> None:
    lines = table.read_text().splitlines()
    lines[1] = lines[1].replace(",0,0.9", ",adlut,0.9").replace(",1,0.9", ",adlut,0.9")
    table.write_text("\n".join(lines))
    with pytest.raises(UserError, match="unknown value 'adlut', of one image alone: give it one of '"):
        check_groups(table, photos)


def test_several_attributes_become_one() -> None:
    """Combinations that occur, in order; a lone one goes to its most frequent neighbour with the same first value."""
    first, second = np.array([0, 0, 0, 1, 1, 1, 1, -1]), np.array([0, 0, 1, 1, 1, 0, 0, 0])
    values, names = joined([first, second], [["a", "b"], ["x", "y"]])
    assert names == ["a+x", "b+x", "b+y"] and values.tolist() == [0, 0, 0, 2, 2, 1, 1, -1]
    alone, same = joined([first], [["a", "b"]])
    assert alone is first and same == ["a", "b"]
