"""Folders and CSV tables of a user's own images, and every mistake that can be made with them."""

import csv
import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fairflac.data.base import BiasedDataset
from fairflac.data.own.csv_file import Table, list_table
from fairflac.data.own.folder import Folder
from fairflac.data.own.sheet import ColumnChoice
from fairflac.errors import UserError
from program import Program, refused


def draw(path: Path, shade: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (20, 16), (shade, 255 - shade, 0)).save(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of ten images."""
    for label, base in (("cat", 0), ("dog", 100)):
        for i in range(10):
            draw(tmp_path / "pets" / label / f"{i}.png", base + i)
    return tmp_path / "pets"


@pytest.fixture
def table(folder: Path) -> Path:
    """The same, with an attribute that mostly goes with the class."""
    path = folder / "pets.csv"
    rows = [
        {"path": f"{label}/{i}.png", "label": label, "place": "sofa" if (label == "cat") == (i < 8) else "park"}
        for label in ("cat", "dog")
        for i in range(10)
    ]
    write(path, rows)
    return path


def write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def splits(dataset: Folder | Table, root: Path) -> list[BiasedDataset]:
    found = [dataset.load(root, split) for split in ("train", "validation", "test")]
    return [part for part in found if part is not None]


def test_a_folder_with_a_subfolder_for_each_class(folder: Path, tmp_path: Path) -> None:
    train, validation, test = splits(Folder(path=folder, size=16), tmp_path)
    assert train.task.classes == ("cat", "dog") and train.task.image_size == (16, 16)
    assert train.images.shape == (14, 18, 18, 3)  # an eighth more than the network sees
    assert len(validation) == 2 and len(test) == 4 and train.bias == {}
    for part in (train, validation, test):
        for image, y, name in zip(part.images, part.y, part.names, strict=True):
            assert str(name).startswith(("cat/", "dog/")[y])
            assert image[0, 0, 0] == int(Path(str(name)).stem) + 100 * y
    names = [name for part in (train, validation, test) for name in part.names.tolist()]
    assert len(names) == len(set(names)) == 20


def test_the_folders_own_splits_are_kept(folder: Path, tmp_path: Path) -> None:
    whole = tmp_path / "split"
    for part, numbers in (("train", range(6)), ("Val", range(6, 8)), ("test", range(8, 10))):
        for label in ("cat", "dog"):
            for i in numbers:
                draw(whole / part / label / f"{i}.png", 10 * i + (label == "dog"))
    train, validation, test = splits(Folder(path=whole), tmp_path)
    assert (len(train), len(validation), len(test)) == (12, 4, 4)
    assert all(str(name).startswith("test/") for name in test.names)


def test_classes_named_like_splits_are_classes(tmp_path: Path) -> None:
    for label in ("test", "val"):
        for i in range(4):
            draw(tmp_path / "x" / label / f"{i}.png", 10 * i + len(label))
    train = Folder(path=tmp_path / "x").load(tmp_path, "train")
    assert train is not None and train.task.classes == ("test", "val")


def test_a_table_with_an_attribute(table: Path, tmp_path: Path) -> None:
    train, validation, test = splits(Table(path=table, size=16), tmp_path)
    place = train.task.attributes["place"]
    assert place.values == ("park", "sofa") and place.aligned == (1, 0)
    rows = {row["path"]: row for row in rows_of(table)}
    for part in (train, validation, test):
        told = [rows[str(name)]["place"] for name in part.names]
        assert [place.values[code] for code in part.bias["place"]] == told
    assert Table(path=table, columns=()).load(tmp_path, "train").bias == {}  # type: ignore[union-attr]
    assert train.with_target("place").task.classes == ("park", "sofa")


def test_a_table_with_splits(table: Path, tmp_path: Path) -> None:
    rows = rows_of(table)
    for i, row in enumerate(rows):
        row["split"] = ("train", "TRAIN", "test", "val")[i % 4]
    write(table, rows)
    train, validation, test = splits(Table(path=table), tmp_path)
    assert (len(train), len(validation), len(test)) == (10, 5, 5)
    assert "split" not in train.bias


def test_the_folders_order_does_not_matter(folder: Path, tmp_path: Path) -> None:
    """Written backwards and in another place: the same images in the same splits."""
    other = tmp_path / "other"
    for path in sorted(folder.rglob("*.png"), reverse=True):
        copy = other / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    for first, second in zip(splits(Folder(path=folder), tmp_path), splits(Folder(path=other), tmp_path), strict=True):
        assert first.names.tolist() == second.names.tolist()
        np.testing.assert_array_equal(np.asarray(first.images), np.asarray(second.images))


def broken(folder: Path, how: str) -> None:
    """Make one mistake."""
    rows = rows_of(folder / "pets.csv")
    if how == "missing column":
        rows = [{"path": row["path"], "kind": row["label"]} for row in rows]
    elif how == "outside":
        draw(folder.parent / "secret.png", 3)
        rows[4]["path"] = "../secret.png"
    elif how == "absolute":
        rows[4]["path"] = "/etc/passwd"
    elif how == "empty cell":
        rows[2]["label"] = ""
    elif how == "odd split":
        rows = [{**row, "split": "train" if i else "later"} for i, row in enumerate(rows)]
    elif how == "only in test":
        rows = [{**row, "split": "test" if row["label"] == "dog" else "train"} for row in rows]
    elif how == "one class":
        rows = [row for row in rows if row["label"] == "cat"]
    elif how == "one image":
        rows = [row for row in rows if row["label"] == "cat" or row["path"] == "dog/1.png"]
    write(folder / "pets.csv", rows)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing column", r"no column 'label': it has path, kind; name the right one with label_column"),
        ("outside", r"line 6 .*'\.\./secret\.png' is outside"),
        ("absolute", r"line 6 .*'/etc/passwd' is outside"),
        ("empty cell", r"line 4 .*column 'label'"),
        ("odd split", r"line 2 .*'later'"),
        ("only in test", r"class 'dog' .* no image to train on"),
        ("one class", r"only the class 'cat'"),
        ("one image", r"class 'dog' .* has 1 image"),
    ],
)
def test_mistakes_in_a_table_are_one_line(table: Path, tmp_path: Path, how: str, message: str) -> None:
    broken(table.parent, how)
    with pytest.raises(UserError, match=message):
        Table(path=table).load(tmp_path, "train")


def test_a_path_with_a_zero_byte_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "pets.jsonl"
    path.write_text(json.dumps({"path": "a\0.png", "label": "cat"}))
    with pytest.raises(UserError, match=r"line 1 .* a path cannot hold the zero byte"):
        list_table(path)


def test_outside_is_allowed_when_the_user_says_so(table: Path, tmp_path: Path) -> None:
    broken(table.parent, "outside")
    assert Table(path=table, allow_outside=True).load(tmp_path, "train") is not None


def test_mistakes_with_a_folder_are_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        Folder(path=tmp_path / "nowhere").load(tmp_path, "train")
    with pytest.raises(UserError, match="not a folder"):
        Folder(path=folder / "cat" / "0.png").load(tmp_path, "train")
    with pytest.raises(UserError, match="is a folder"):
        Table(path=folder).load(tmp_path, "train")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no images"):
        Folder(path=tmp_path / "empty").load(tmp_path, "train")
    with pytest.raises(UserError, match="no file"):
        Table(path=tmp_path / "no.csv").load(tmp_path, "train")
    for path in (folder / "dog").iterdir():
        path.write_text("woof")
    with pytest.raises(UserError, match=r"class 'dog' .* 0 readable"):
        Folder(path=folder).load(tmp_path, "train")
    write(folder / "t.csv", [{"path": "cat/1.png", "label": "a", "place": "x"}])
    with pytest.raises(UserError, match="unknown attribute column"):
        Table(path=folder / "t.csv", columns=("plaec",)).load(tmp_path, "train")


ROW = st.tuples(st.sampled_from(["cat/0", "cat/1", "dog/0", "dog/1", "cat/broken", "dog/missing"]), st.booleans())


@given(lists=st.lists(st.lists(ROW, max_size=8), min_size=1, max_size=3), data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_labels_and_attributes_belong_to_their_images(
    folder: Path, tmp_path: Path, lists: list[list[tuple[str, bool]]], data: st.DataObject
) -> None:
    """Rows that are missing, broken, repeated or labelled otherwise, in any order, one list after another."""
    (folder / "cat" / "broken.png").write_text("miaow")
    for odd in lists:
        sure = [(f"{label}/{i}", True) for label in ("cat", "dog") for i in range(2, 8)]
        rows = data.draw(st.permutations([*sure, *odd]))
        labels = {True: {"cat": "cat", "dog": "dog"}, False: {"cat": "dog", "dog": "cat"}}
        write(
            folder / "some.csv",
            [{"path": f"{name}.png", "label": labels[true][name[:3]], "true": str(true)} for name, true in rows],
        )
        parts = splits(Table(path=folder / "some.csv"), tmp_path)
        found = []
        for part in parts:
            for row, name in enumerate(str(name)[:-4] for name in part.names):
                true = part.task.attributes["true"].values[part.bias["true"][row]] == "True"
                assert part.images[row][0, 0, 0] == int(name[4]) + (100 if name[:3] == "dog" else 0)
                assert part.task.classes[part.y[row]] == labels[true][name[:3]]
                found.append((name, true))
        assert sorted(found) == sorted({row for row in rows if row[0][-1].isdigit()})


def test_300_000_repeated_rows_take_seconds(folder: Path, tmp_path: Path) -> None:
    rows = "".join(f"{label}/{i}.png,{label}\n" for label in ("cat", "dog") for i in range(10))
    (folder / "many.csv").write_text("path,label\n" + rows * 15_000)
    start = time.perf_counter()
    train = Table(path=folder / "many.csv").load(tmp_path, "train")
    assert train is not None and len(train) == 14
    assert time.perf_counter() - start < 30  # 2 on one busy core; it was more than 300


def test_training_says_once_what_is_odd(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "dog" / "copy.png").write_bytes((folder / "cat" / "0.png").read_bytes())
    (folder / "dog" / "broken.png").write_text("woof")
    splits(Folder(path=folder), tmp_path)
    told = capsys.readouterr().err
    assert told.count("several labels") == 1 and told.count("1 of 22 files") == 1


@given(st.text(alphabet="path,label;\t|\"' \n\r\0\\/.é", max_size=60).map(str.encode) | st.binary(max_size=40))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_in_a_table_is_a_list_or_one_line(folder: Path, content: bytes) -> None:
    for header in (b"", b"path,label\n"):
        (folder / "odd.csv").write_bytes(header + content)
        try:
            listing = list_table(folder / "odd.csv")
        except UserError:
            continue
        assert all(listing.names) and all(listing.labels)


@pytest.mark.parametrize(
    ("header", "separator", "choice"),
    [
        ("file_name,class,place", ",", ColumnChoice()),
        ("Image_Path;Category;place", ";", ColumnChoice()),
        ("where|what|place", "|", ColumnChoice("where", "what")),
        ("where\twhat, or so\tplace", "\t", ColumnChoice("where", "what, or so")),
        ("file,label,place", ",", ColumnChoice(label="label")),
    ],
)
def test_columns_by_other_names(
    header: str, separator: str, choice: ColumnChoice, table: Path, program: Program, tmp_path: Path
) -> None:
    rows = [separator.join(row.values()) for row in rows_of(table)]
    table.write_text("\n".join([header, *rows]) + "\n")
    listing = list_table(table, choice=choice)
    assert set(listing.labels) == {"cat", "dog"} and list(listing.attributes) == ["place"]
    assert listing.names[0] == "cat/0.png"
    words = ["--path-column", choice.path] if choice.path else []
    words += ["--label-column", choice.label] if choice.label else []
    assert "attribute place: park, sofa" in program("data", "check", table, "--data", tmp_path, *words).out


def test_one_of_several_labels(table: Path) -> None:
    by_place = list_table(table, choice=ColumnChoice(label="place"))
    assert set(by_place.labels) == {"park", "sofa"} and set(by_place.attributes["label"]) == {"cat", "dog"}


@pytest.mark.parametrize(
    ("header", "words", "told"),
    [
        ("file,image,label", [], "has the columns file and image: say which with path_column"),
        ("path,class,target", [], "has the columns class and target: say which with label_column"),
        ("path,kind,place", ["--label", "knd"], "unknown column 'knd' of 'pets.csv': did you mean 'kind'?"),
        ("path,kind,place", ["--path-column", "file"], "unknown column 'file' of 'pets.csv'"),
    ],
)
def test_columns_that_may_be_several_are_asked_for(
    header: str, words: list[str], told: str, table: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([header, *lines[1:]]) + "\n")
    refused(program("data", "check", "pets.csv", "--data", "data", *words), told)
