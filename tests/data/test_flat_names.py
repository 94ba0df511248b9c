"""Classes from names of files: what is understood, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fairflac.data.own.csv_file import list_table
from fairflac.data.own.flat_names import READINGS, read_flat_names
from fairflac.errors import UserError
from program import Program, refused


def flat(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / name)
    return folder


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("climbing_1.jpg", "climbing_12.jpg", "rope_jump_1.png", "rope_jump_2.png"), ["climbing", "rope_jump"]),
        (("cat.0.jpg", "cat.1.jpg", "dog.0.jpg", "dog.1.jpg"), ["cat", "dog"]),
        (("cat (1).png", "cat (2).png", "dog1.png", "dog02.png"), ["cat", "dog"]),
        (("001-cat.jpg", "002-cat.jpg", "003-dog.jpg", "004_dog.jpg"), ["cat", "dog"]),
        (("kühe_1.jpg", "kühe_2.jpg", "Schaf_1.jpg", "Schaf_2.jpg"), ["Schaf", "kühe"]),
    ],
)
def test_a_class_beside_a_number(names: tuple[str, ...], labels: list[str], tmp_path: Path) -> None:
    found = read_flat_names(flat(tmp_path, *names))
    assert sorted(found.counts) == labels and set(found.counts.values()) == {2}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("IMG_1.jpg", "IMG_2.jpg"), "all names in .* begin with 'IMG', which is no class then: give a pattern"),
        (("cat_1.jpg", "cat_2.jpg", "dog_1.jpg", "dog_2.jpg", "x.jpg"), "1 of 5 names .* such as 'x.jpg'"),
        (("25_0_1_2017.jpg", "30_1_1_2018.jpg"), "2 of 2 names .* are not a class and a number"),
        (("1_a_5.jpg", "1_a_6.jpg", "2_b_5.jpg", "2_b_6.jpg"), "has numbers before and behind its class"),
        (("cat_1.jpg", "cat_2.jpg", "Cat_3.jpg", "Cat_4.jpg"), "'Cat' and 'cat' .* may be one class or two"),
        (("cat_1.jpg", "cat_2.jpg", "dog_1.jpg"), "'dog' would be a class of one image"),
        (("cat/1.jpg", "dog/2.jpg"), "if folders are classes no table is needed"),
        ((), "there are no images"),
    ],
)
def test_what_may_mean_several_things_is_refused(names: tuple[str, ...], told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=told):
        read_flat_names(flat(tmp_path, *names))


def test_patterns_in_braces_and_regular_expressions(tmp_path: Path) -> None:
    folder = flat(tmp_path, "25_0_1_a.jpg", "31_1_0_b.jpg", "7_0_2_c.png")
    braces = read_flat_names(folder, "{age}_{label}_{race}_*")
    assert braces.columns == {"label": ["0", "1", "0"], "age": ["25", "31", "7"], "race": ["1", "0", "2"]}
    assert read_flat_names(folder, r"\d+_(?P<label>\d)_.*").columns == {"label": ["0", "1", "0"]}
    for pattern, told in (
        ("{label}_5", "fits 0 of 3 names"),
        (r"(\d+)_.*", "does not say where the class is"),
        ("(?P<label>", "is not valid"),
    ):
        with pytest.raises(UserError, match=told):
            read_flat_names(folder, pattern)


def test_folders_of_splits_are_kept(tmp_path: Path) -> None:
    names = [f"{split}/{label}_{number}.png" for split in ("train", "test") for label in "ab" for number in (1, 2)]
    found = read_flat_names(flat(tmp_path / "x", *names))
    (tmp_path / "x" / "list.csv").write_text(found.as_csv())
    listing = list_table(tmp_path / "x" / "list.csv")
    assert sorted(listing.names) == sorted(names)
    assert [name.split("/")[0] for name in listing.names] == list(listing.splits or ())


def test_the_command_shows_what_it_understood_and_overwrites_nothing(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flat(tmp_path / "sport", "climbing_1.jpg", "climbing_2.jpg", "diving_1.jpg", "diving_2.jpg")
    assert program("data", "make-csv", "sport", "--dry-run").code == 0 and not Path("sport/images.csv").exists()
    answer = program("data", "make-csv", "sport")
    assert "4 names in sport, read as a class, then a number" in answer.out and "climbing_1.jpg" in answer.out
    assert "table: sport/images.csv (written)" in answer.out
    assert Path("sport/images.csv").read_text().splitlines()[:2] == ["path,label", "climbing_1.jpg,climbing"]
    assert "(unchanged)" in program("data", "make-csv", "sport").out
    Path("sport/images.csv").write_text("mine")
    refused(program("data", "make-csv", "sport"), "'sport/images.csv' is there already", "--overwrite")
    assert Path("sport/images.csv").read_text() == "mine"
    assert "(replaced)" in program("data", "make-csv", "sport", "--overwrite").out
    elsewhere = program("data", "make-csv", "sport", "-o", "lists/a.csv")
    assert "fairflac debias lists/a.csv --allow-outside" in elsewhere.out
    assert len(list_table(Path("lists/a.csv"), allow_outside=True).names) == 4
    refused(program("data", "make-csv", "nowhere"), "there is no folder 'nowhere'")


@given(st.text(alphabet="ab_-. 19", min_size=1, max_size=30))
def test_no_name_takes_long(stem: str) -> None:
    for expression in READINGS.values():
        found = expression.fullmatch(stem)
        assert found is None or any(letter.isalpha() for letter in found["label"])
