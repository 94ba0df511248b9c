import csv
import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairflac.inference.predict import escaped, unescaped
from fairflac.runs.directory import Run
from program import Program, refused


@pytest.fixture
def folder(photos: Path, tmp_path: Path) -> Path:
    """Two images, one that is none, and a list of them."""
    (tmp_path / "new" / "deep").mkdir(parents=True)
    shutil.copy(photos / "above" / "01.png", tmp_path / "new" / "a.png")
    shutil.copy(photos / "below" / "01.png", tmp_path / "new" / "deep" / "b.png")
    (tmp_path / "new" / "c.png").write_text("no image")
    (tmp_path / "new" / "list.txt").write_text("no image either")
    return tmp_path / "new"


def test_table_csv_and_json_say_the_same(program: Program, folder_run: Run, folder: Path, tmp_path: Path) -> None:
    command = ["predict", folder_run.path, folder, "--top", "2"]
    table = program(*command)
    assert table.code == 0 and "1 of 3 files cannot be read as images" in table.err and "c.png" in table.err
    head, *lines = table.out.splitlines()
    assert head.split() == ["path", "class", "probability", "class", "2", "probability", "2"]
    found = json.loads(program(*command, "--json").out)
    paths = [str(folder / "a.png"), str(folder / "deep" / "b.png")]
    assert [line.split()[0] for line in lines] == [one["path"] for one in found["images"]] == paths
    assert [line.split()[1] for line in lines] == [one["class"] for one in found["images"]]
    assert [one["path"] for one in found["unreadable"]] == [str(folder / "c.png")]
    assert all(sum(guess["probability"] for guess in one["top"]) == pytest.approx(1) for one in found["images"])
    rows = list(csv.DictReader(program(*command, "--csv").out.splitlines()))
    assert [row["class"] for row in rows] == [one["class"] for one in found["images"]]
    assert [float(row["probability"]) for row in rows] == pytest.approx(
        [one["probability"] for one in found["images"]], abs=1e-6
    )
    for name in ("answers.csv", "answers.json"):
        said = program(*command, "-o", tmp_path / name)
        assert f"2 images in {tmp_path / name}" in said.out
    assert (tmp_path / "answers.csv").read_text() == program(*command, "--csv").out
    assert json.loads((tmp_path / "answers.json").read_text()) == found


def test_names_that_are_no_text_are_written_and_can_be_read_back(
    program: Program, folder_run: Run, photos: Path, tmp_path: Path
) -> None:
    source = (photos / "above" / "01.png").read_bytes()
    names = [b"a\xff.png", rb"b\xff.png", rb"c\\d\x41\.png", b"d\n\xc3\xa9\xed\xa0\x80.png", b"e.png", rb"f\g.png"]
    for name in names:
        (tmp_path / "new").mkdir(exist_ok=True)
        Path(os.fsdecode(os.fsencode(tmp_path / "new") + b"/" + name)).write_bytes(source)
    (tmp_path / "new" / os.fsdecode(b"broken\xfe.png")).write_text("no image")
    for output in ("answers.csv", "answers.json"):
        answer = program("predict", folder_run.path, tmp_path / "new", "-o", tmp_path / output)
        assert answer.code == 0 and "6 images in" in answer.out and "broken\\xfe.png" in answer.err
    with (tmp_path / "answers.csv").open(newline="", encoding="utf-8") as stream:
        written = [row["path"] for row in csv.DictReader(stream)]
    found = json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
    assert [one["path"] for one in found["images"]] == written
    assert [os.fsencode(unescaped(path)).rpartition(b"/")[2] for path in written] == names
    assert found["unreadable"][0]["path"].endswith("broken\\xfe.png")
    assert written[4].endswith("/e.png") and written[5].endswith(r"/f\g.png")  # as they are
    assert r"a\xff.png" in program("predict", folder_run.path, tmp_path / "new").out


@given(st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name))
def test_every_name_can_be_read_back(name: bytes) -> None:
    written = escaped(os.fsdecode(name))
    assert os.fsencode(unescaped(written.encode("utf-8").decode("utf-8"))) == name


def test_mistakes(program: Program, folder_run: Run, folder: Path, tmp_path: Path) -> None:
    refused(
        program("predict", folder_run.path, folder, "--strict", "-o", tmp_path / "a.csv"), "c.png", "leave out strict"
    )
    assert not (tmp_path / "a.csv").exists()
    refused(program("predict", folder_run.path, folder / "c.png"), "1 of 1 files cannot be read")
    refused(program("predict", folder_run.path, folder, "--csv", "--json"), "exclude each other")
    refused(program("predict", folder_run.path, folder, "-o", "answers.xlsx"), ".csv or .json")
    (tmp_path / "is-a-folder.csv").mkdir()
    refused(program("predict", folder_run.path, folder, "-o", tmp_path / "is-a-folder.csv"), "is-a-folder.csv")
    refused(program("predict", folder_run.path, folder, "-o", folder / "a.png" / "a.csv"), "a file stands where")
    refused(program("predict", folder_run.path, tmp_path / "nowhere"), "there is no")
    refused(program("predict", tmp_path / "nothing", folder), "give a run directory")
    refused(program("predict", folder_run.path), "images")
    refused(program("predict", folder_run.path, folder, "--classes", "a, b"), "classes of its own")


def test_a_model_of_somebody_else(program: Program, folder: Path, tmp_path: Path) -> None:
    import foreign_models

    path = foreign_models.torchscript(tmp_path / "model.pt")
    answer = program("predict", path, folder / "a.png", "--size", "8", "--classes", "a, b,c,d", "--json")
    assert json.loads(answer.out)["images"][0]["class"] in foreign_models.CLASSES
    refused(program("predict", path, folder / "a.png"), "give size too")
