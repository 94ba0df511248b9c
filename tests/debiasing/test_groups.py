"""Groups for training: found in the images, or read from a table and completed."""

import csv
from pathlib import Path

import pytest

from fairflac.data.own.folder import list_folder
from fairflac.data.own.groups import write_groups
from fairflac.debiasing.bias_model import DISCOVER
from fairflac.debiasing.groups import training_groups
from fairflac.debiasing.request import Request
from planted_bars import draw_folder


@pytest.fixture(scope="module")
def bars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_folder(tmp_path_factory.mktemp("data") / "bars", 100, 0.85)


def rows(path: str | None) -> list[dict[str, str]]:
    assert path is not None
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


def ground(row: dict[str, str]) -> str:
    return Path(row["path"]).stem[-1]


def test_every_image_gets_a_value_that_was_found(bars: Path, tmp_path: Path) -> None:
    """Those of the test split too, which the search does not look at."""
    found = training_groups(Request(bars, tmp_path / "out", DISCOVER), tmp_path, tmp_path / "runs")
    table = rows(found.path)
    assert (
        len(table) == 200
        and found.says.startswith("A shortcut was found. discovery.html")
        and {row["given"] for row in table} == {"no"}
    )
    pairs = {(row["guess"], ground(row)) for row in table}
    assert len(pairs) == 2  # each value is one ground
    assert found.page is not None and Path(found.page).is_file()
    again = training_groups(Request(bars, tmp_path / "other", DISCOVER), tmp_path, tmp_path / "runs")
    assert again.path == found.path  # the same groups are the same table


def test_a_table_of_some_images_is_completed(bars: Path, tmp_path: Path) -> None:
    listing = list_folder(bars)
    some = listing.take(range(0, len(listing.names), 4))
    names = {"0": "red", "1": "blue"}
    write_groups(tmp_path / "some.csv", some, {"guess": [names[Path(name).stem[-1]] for name in some.names]})
    request = Request(bars, tmp_path / "out", DISCOVER, attribute_from=tmp_path / "some.csv")
    table = rows(training_groups(request, tmp_path, tmp_path / "runs").path)
    assert sum(row["given"] == "yes" for row in table) == 50
    assert sum(row["guess"] == names[ground(row)] for row in table) > 0.95 * len(table)


def test_two_shortcuts_are_trained_against_together(bars: Path, tmp_path: Path) -> None:
    """A table with a second guess: the values are the combinations, and what the table lacks is filled in for both."""
    listing = list_folder(bars)
    side = [str(number % 2) for number in range(len(listing.names))]
    grounds = [Path(name).stem[-1] for name in listing.names]
    write_groups(tmp_path / "two.csv", listing, {"guess": grounds, "guess2": side})
    request = Request(bars, tmp_path / "out", DISCOVER, attribute_from=tmp_path / "two.csv")
    table = rows(training_groups(request, tmp_path, tmp_path / "runs").path)
    assert [row["guess"] for row in table] == [f"{one}+{other}" for one, other in zip(grounds, side, strict=True)]


def test_a_line_of_an_image_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    """It is left out like any other."""
    photos = draw_folder(tmp_path / "bars", 40, 0.85)
    (photos / "lying" / "broken-0.png").write_text("no image")
    listing = list_folder(photos)
    write_groups(tmp_path / "all.csv", listing, {"guess": [Path(name).stem[-1] for name in listing.names]})
    request = Request(photos, tmp_path / "out", DISCOVER, attribute_from=tmp_path / "all.csv")
    table = rows(training_groups(request, tmp_path, tmp_path / "runs").path)
    assert len(table) == 80 and all(row["guess"] == ground(row) for row in table)


def test_without_a_shortcut_there_are_none(tmp_path: Path) -> None:
    even = draw_folder(tmp_path / "even", 60, 0.5)
    found = training_groups(Request(even, tmp_path / "out", DISCOVER), tmp_path, tmp_path / "runs")
    assert found.path is None and found.says.startswith("No shortcut was found.")


def test_too_few_images_to_search_are_no_error(tmp_path: Path) -> None:
    few = draw_folder(tmp_path / "few", 11, 0.8)
    found = training_groups(Request(few, tmp_path / "out", DISCOVER), tmp_path, tmp_path / "runs")
    assert found.path is None and "and 10 are needed" in found.says
