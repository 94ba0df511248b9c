"""Every word behind `--bias-model` and `--attribute`."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairflac.debiasing.bias_model import LABELLED, against_groups, bias_model, taught
from fairflac.debiasing.budget import TrainingSetup
from fairflac.errors import UserError
from fairflac.runs.directory import Run

SIZE = TrainingSetup("resnet18", 48, 20, 128, 100, 1.0)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_kinds_need_no_labels() -> None:
    found = bias_model("gce", SIZE)
    assert (found.method, found.settings) == ("flac-b", {"bias_model.kind": "gce", "bias_model.epochs": 20})
    assert (found.work.runs, bias_model("vanilla", SIZE).work.runs) == (1, 0)  # vanilla is trained anyway
    assert bias_model("early", SIZE).settings["bias_model.epochs"] == 1  # of 100 steps


def test_fairface_is_taught_at_the_size_of_the_images() -> None:
    found = bias_model("fairface:age", SIZE)
    assert found.method == "flac" and found.settings["bias_model.size"] == 48
    assert found.settings["bias_model.target"] == "age" and found.settings["bias_model.drop_teens"] is True
    with pytest.raises(UserError, match="did you mean 'gender'"):
        bias_model("fairface:gendre", SIZE)


def test_runs_and_weight_files(tmp_path: Path, tiny_run: Run) -> None:
    assert bias_model(str(tiny_run.path), SIZE).run == tiny_run.path
    assert bias_model(str(tiny_run.last), SIZE).settings["bias_model.weights"] == str(tiny_run.last)
    with pytest.raises(UserError, match="no run directory and no weight file"):
        bias_model("nothing", SIZE)
    with pytest.raises(UserError, match="not a run directory"):
        bias_model(str(tmp_path), SIZE)
    with pytest.raises(UserError, match="cannot read weights"):
        bias_model(str(write(tmp_path / "net.pth", "x")), SIZE)


def test_a_column_of_the_table_itself(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", "path,label,age", "1.jpg,cat,old", "2.jpg,dog,young")
    found = taught(table, "age", None, tmp_path, allow_outside=False)
    assert found.method == "flac" and found.settings["bias_model.path"] == str(table.resolve())
    assert found.settings["bias_model.target"] == "age" and found.columns is None
    with pytest.raises(UserError, match="did you mean 'age'"):
        taught(table, "agge", None, tmp_path, allow_outside=False)


def test_a_column_that_is_filled_for_some_images(tmp_path: Path) -> None:
    table = write(
        tmp_path / "a.csv",
        "path,label,age,place",
        '"1, or so.jpg",cat,old,sofa',
        "2.jpg,dog,,park",
        "3.jpg,dog,young,sofa",
    )
    output = tmp_path / "out"
    found = taught(table, "age", None, output, allow_outside=False)
    assert found.columns == ("place",) and "2 of the 3 images" in found.says
    lines = (output / LABELLED).read_text().splitlines()
    assert lines[1] == f'"{tmp_path / "1, or so.jpg"}","cat","old"' and len(lines) == 3
    empty = write(tmp_path / "b.csv", "path,label,age", "1.jpg,cat,")
    with pytest.raises(UserError, match="is empty"):
        taught(empty, "age", None, output, allow_outside=False)


def test_another_table_or_folder(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", "path,label", "1.jpg,cat")
    other = write(tmp_path / "b.csv", "path,label,age", "1.jpg,cat,old", "2.jpg,dog,young")
    assert taught(table, "age", other, tmp_path, allow_outside=False).settings["bias_model.path"] == str(other)
    folder = tmp_path / "ages"
    for value in ("old", "young"):
        (folder / value).mkdir(parents=True)
        (folder / value / "1.jpg").touch()
    found = taught(table, "age", folder, tmp_path, allow_outside=False)
    assert found.settings["bias_model.dataset"] == "folder" and found.settings["bias_model.target"] == "class"
    with pytest.raises(UserError, match="which has no columns"):
        taught(folder, "age", None, tmp_path, allow_outside=False)


def test_mixed_images_are_for_networks_that_know_how_to_see() -> None:
    assert list(against_groups(SIZE)) == ["flac", "balanced"]
    assert list(against_groups(replace(SIZE, pretrained=True))) == ["flac", "lisa"]
    assert list(against_groups(replace(SIZE, pretrained=True, net="simple-conv"))) == ["flac", "balanced"]
