"""`fairflac embed` as a user meets it."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import fairflac
from fairflac.runs.directory import Run
from program import Program, refused


@pytest.fixture
def folder(photos: Path, tmp_path: Path) -> Path:
    """Two images, and one that is none."""
    (tmp_path / "new").mkdir()
    for name in ("above", "below"):
        shutil.copy(photos / name / "01.png", tmp_path / "new" / f"{name}.png")
    (tmp_path / "new" / "broken.png").write_text("no image")
    return tmp_path / "new"


def test_a_row_for_each_image_and_which_it_is(program: Program, folder_run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "features.csv").write_text("a table of the user")
    answer = program("embed", folder_run.path, folder, "-o", tmp_path / "features.npy")
    assert answer.code == 0 and answer.out.startswith("2 images") and "1 files cannot be read" in answer.err
    features = np.load(tmp_path / "features.npy")
    assert (tmp_path / "features.csv").read_text() == "a table of the user"
    with (tmp_path / "features.index.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["row"] for row in rows] == ["0", "1"] and len(features) == 2
    for row in rows:
        alone = fairflac.embed(folder_run, row["path"], silent=True)
        assert alone.features[0] == pytest.approx(features[int(row["row"])], abs=1e-5) and not alone.files
    said = json.loads(program("embed", folder_run.path, folder, "-o", tmp_path / "b.npy", "--json").out)
    assert said["images"] == 2 and list(said["unreadable"]) == [str(folder / "broken.png")]


def test_parquet_has_both(folder_run: Run, folder: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = fairflac.embed(folder_run, folder, output=tmp_path / "features.parquet", silent=True)
    table = parquet.read_table(tmp_path / "features.parquet")
    assert table.column("path").to_pylist() == found.paths
    assert np.array(table.column("features").to_pylist(), np.float32) == pytest.approx(found.features)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["RUN", "FOLDER", "-o", "features.txt"], ["features.txt", ".npy or .parquet"]),
        (["RUN", "nowhere"], ["there is no 'nowhere'"]),
        (["RUN", "FOLDER", "--strict"], ["1 of 3 files", "broken.png"]),
        (["nothing", "FOLDER"], ["nothing"]),
    ],
)
def test_bad_input_is_one_line(
    program: Program, folder_run: Run, folder: Path, arguments: list[str], words: list[str]
) -> None:
    places = {"RUN": folder_run.path, "FOLDER": folder}
    refused(program("embed", *(places.get(word, word) for word in arguments)), *words)
