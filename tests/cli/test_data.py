"""`fairflac data check` on folders and tables as people really have them."""

import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from program import Program, refused


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Two classes of six images."""
    folder = tmp_path / "pets"
    for label, base in (("cat", 0), ("dog", 100)):
        (folder / label).mkdir(parents=True)
        for i in range(6):
            Image.new("RGB", (9, 9), (base + i, 0, 0)).save(folder / label / f"{i}.png")
    return folder


def listed(pets: Path, *more: str, header: str = "path,label", separator: str = ",") -> Path:
    path = pets / "pets.csv"
    rows = [separator.join((f"{label}/{i}.png", label)) for label in ("cat", "dog") for i in range(6)]
    path.write_text("\n".join([header, *rows, *more]) + "\n")
    return path


@pytest.fixture
def check(program: Program, tmp_path: Path) -> Program:
    return lambda name: program("data", "check", name, "--data", tmp_path / "root")


def found(check: Program, name: Path, *parts: str) -> None:
    """The same twice: once from the images and once from the cache."""
    for answer in (check(name), check(name)):
        assert answer.code == 0 and "all is well" not in answer.out, answer
        assert all(part in answer.out for part in parts), answer.out


def test_nothing_to_find(check: Program, pets: Path) -> None:
    for name in (pets, listed(pets)):
        answer = check(name)
        assert answer.out.endswith(f"{name}: all is well\n") and "train: 8 images (cat 4, dog 4)" in answer.out


def test_a_broken_file_is_named_every_time(check: Program, pets: Path) -> None:
    (pets / "cat" / "0.png").write_text("miaow")
    found(check, pets, "1 of 12 files", "'cat/0.png' (not an image, or of an unknown kind)")


def test_a_missing_file_is_named_every_time(check: Program, pets: Path) -> None:
    check(listed(pets))
    found(check, listed(pets, "cat/7.png,cat"), "1 of 13 files", "'cat/7.png' (No such file or directory)")


def test_one_image_with_two_labels(check: Program, pets: Path) -> None:
    found(check, listed(pets, "cat/1.png,dog"), "1 image has several labels", "'cat/1.png' (cat, also dog)")
    shutil.copy(pets / "cat" / "1.png", pets / "dog" / "copy.png")
    found(check, pets, "1 image has several labels", "'cat/1.png' (cat, also dog as 'dog/copy.png')")


def test_rows_that_repeat_others_count_once(check: Program, pets: Path) -> None:
    again = ["cat/1.png,cat", "./cat/1.png,cat", "dog/3.png , dog"]
    found(check, listed(pets, *again), "3 rows repeat earlier ones", "'cat/1.png', 'dog/3.png'", "train: 8 images")


def test_copies_in_another_split(check: Program, pets: Path, tmp_path: Path) -> None:
    for split in ("train", "test"):
        shutil.copytree(pets, tmp_path / "split" / split)
    (tmp_path / "split" / "test" / "dog" / "5.png").unlink()
    found(
        check, tmp_path / "split", "11 images have copies in another split", "(test, also train as 'train/cat/0.png')"
    )


def test_links_are_no_more_images(check: Program, pets: Path, tmp_path: Path) -> None:
    pets = shutil.move(pets, tmp_path / "outer" / "pets")
    (pets / "cat" / "loop").symlink_to(pets)
    (pets / "cat" / "up").symlink_to(tmp_path / "outer")
    (pets / "dog" / "again").symlink_to(pets / "cat")
    (pets / "self").symlink_to("self")
    found(check, pets, "train: 8 images", "not followed: 'cat/loop', 'cat/up/pets', 'dog/again'")


def test_a_link_to_a_folder_elsewhere_is_followed(check: Program, pets: Path, tmp_path: Path) -> None:
    shutil.move(pets / "dog", tmp_path / "dogs")
    (pets / "dog").symlink_to(tmp_path / "dogs")
    assert "all is well" in check(pets).out


def test_images_in_no_class(check: Program, pets: Path) -> None:
    Image.new("RGB", (9, 9)).save(pets / "loose.png")
    found(check, pets, "1 image lies directly in", "left out")


@pytest.mark.parametrize(
    ("header", "separator"),
    [("path, label", ","), ("path;label", ";"), ("path\tlabel", "\t"), (" path | label ", " | ")],
)
def test_separators_and_blanks(check: Program, pets: Path, header: str, separator: str) -> None:
    path = listed(pets, header=header, separator=separator)
    assert "all is well" in check(path).out
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert "all is well" in check(path).out


def test_names_as_other_systems_write_them(check: Program, pets: Path) -> None:
    Image.new("RGB", (9, 9), (7, 7, 7)).save(pets / "cat" / "cafe\u0301, old.png")
    path = listed(pets, '"cat/caf\u00e9, old.png",cat', f"{pets}/cat/0.png,cat")
    path.write_text(path.read_text().replace("dog/3.png", r"dog\3.png"))
    found(check, path, "train: 9 images", "1 row repeats", "'cat/0.png'")
    assert "cannot be read" not in check(path).out


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        (("cat/1.png,cat,old,grey",), ("line 14", "4 fields", "2 columns", "quotes")),
        (("", "cat/1.png",), ("line 15", "column 'label'")),
        (('"cat/1.png,cat',), ("quotes",)),
        (("cat/\0.png,cat",), ("line 14", "NUL")),
        (("../secret.png,cat",), ("line 14", "outside")),
    ],
)  # fmt: skip
def test_a_row_that_makes_no_sense(check: Program, pets: Path, more: tuple[str, ...], parts: tuple[str, ...]) -> None:
    refused(check(listed(pets, *more)), *parts)


def test_tables_that_are_none(check: Program, pets: Path) -> None:
    path = pets / "pets.csv"
    for content, part in (
        (b"", "no column 'path'"),
        (b"\n\n", "no column 'path'"),
        (b"path,label\n", "no images"),
        (b"path;kind\n", "it has path, kind"),
        (b"path,label,label\na,b,c\n", "'label' twice"),
        ("path,label\ncat/1.png,cat\n".encode("utf-16"), "UTF-8"),
        ("path,label\ncat/1.png,cät\n".encode("latin-1"), "line 2"),
        (b"path,label\nx/1.png,cat\nx/2.png,cat\nx/3.png,dog\nx/4.png,dog\n", "paths are relative to"),
    ):
        path.write_bytes(content)
        refused(check(path), part)


def test_folders_that_are_none(check: Program, pets: Path, tmp_path: Path) -> None:
    refused(check(tmp_path / "nope"), "there is no folder or file")
    refused(check(Path("nope.csv")), "there is no folder or file 'nope.csv'")
    refused(check(Path("biased-digit")), "did you mean 'biased-digits'?")
    (tmp_path / "empty" / "a" / "b").mkdir(parents=True)
    refused(check(tmp_path / "empty"), "has no images")
    refused(check(tmp_path), "only the class 'pets'", f"if the classes are the folders in '{pets}', give that one")
    refused(check(pets / "cat"), "6 images lie directly in", "CSV")


def test_splits_without_classes(check: Program, pets: Path, tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    for split in ("train", "test"):
        shutil.copytree(pets / "cat", flat / split)
    refused(check(flat), "6 images lie directly in", "/flat/test", "<class>")
    shutil.copytree(pets / "dog", flat / "extra")
    refused(check(flat), "test and train, which look like splits, beside extra")
    shutil.rmtree(flat)
    shutil.copytree(pets, flat / "train")
    shutil.copytree(pets / "cat", flat / "test")
    (flat / "notes").mkdir()
    (flat / "notes" / "a.txt").write_text("a note")
    found(check, flat, "6 images lie directly in", "no images in notes")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_what_may_not_be_read(check: Program, pets: Path) -> None:
    (pets / "cat" / "0.png").chmod(0)
    found(check, pets, "Permission denied")
    (pets / "dog").chmod(0)
    refused(check(pets), "no permission")
