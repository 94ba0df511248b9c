"""Which images are audited, and what is said about them."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auditing.toy_classifiers import rule
from fairflac.auditing.images import SEEN, ImageSelection, select_images
from fairflac.errors import UserError
from fairflac.inference.model import Classifier
from fairflac.inference.open import open_model
from fairflac.runs.directory import Run
from trained_runs import folder_run, photos, tiny_run

__all__ = ["folder_run", "photos", "tiny_run"]  # fixtures


@pytest.fixture
def model() -> Classifier:
    """Decodes files at 18 pixels and sees the middle 16 of them."""
    dark = rule(lambda images: np.zeros(len(images), int), size=16, classes=("below", "above"))
    return replace(dark, decoded_size=(18, 18))


def table(photos: Path, **columns: str) -> Path:
    """A CSV file of the photos; `{place}` in a column is the number of the image."""
    path = photos / "photos.csv"
    files = sorted(photos.rglob("*.png"))
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["path", "label", *columns])
        for place, file in enumerate(files):
            values = [text.format(place=place, third=place % 3) for text in columns.values()]
            writer.writerow([file.relative_to(photos), file.parent.name, *values])
    return path


def test_a_folder_without_splits_is_audited_whole(model: Classifier, photos: Path, tmp_path: Path) -> None:
    found = select_images(model, ImageSelection(str(photos), tmp_path))
    assert len(found.data) == 72 and found.training is None and found.data.images.shape[1:] == (18, 18, 3)
    assert found.data.task.classes == ("below", "above") and found.data.task.image_size == (16, 16)
    assert all(
        str(name).startswith(("below/", "above/")[y]) for name, y in zip(found.data.names, found.data.y, strict=True)
    )
    assert "All 72 images" in found.notes[0] and SEEN in found.notes
    with pytest.raises(UserError, match="no splits of its own"):
        select_images(model, ImageSelection(str(photos), tmp_path, split="test"))


def test_splits_of_a_folder(model: Classifier, photos: Path, tmp_path: Path) -> None:
    for file in sorted(photos.rglob("*.png")):
        part = "train" if int(file.stem) < 30 else "val"
        (home := tmp_path / "split" / part / file.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, home)
    with pytest.raises(UserError, match="no test split, only train, validation"):
        select_images(model, ImageSelection(str(tmp_path / "split"), tmp_path))
    found = select_images(model, ImageSelection(str(tmp_path / "split"), tmp_path, split="validation"))
    assert len(found.data) == 12 and found.training is not None and len(found.training) == 60
    assert "12 images, the validation split" in found.notes[0] and SEEN not in found.notes
    seen = select_images(model, ImageSelection(str(tmp_path / "split"), tmp_path, split="train"))
    assert len(seen.data) == 60 and seen.training is None and SEEN in seen.notes


def test_columns_of_a_table_are_attributes_but_no_ids(model: Classifier, photos: Path, tmp_path: Path) -> None:
    path = table(photos, number="n{place}", turn="t{third}", split="test")
    path.write_text(path.read_text().replace("above/00.png,above,n0,t0,test", "above/00.png,above,n0,t0,train"))
    found = select_images(model, ImageSelection(str(path), tmp_path))
    assert list(found.data.bias) == ["turn"] and found.data.task.attributes["turn"].values == ("t0", "t1", "t2")
    assert len(found.data) == 71 and found.training is not None
    assert any("'number' has 72 values for 72 images" in note for note in found.notes)
    only = select_images(model, ImageSelection(str(path), tmp_path, columns=("turn",)))
    assert list(only.data.bias) == ["turn"] and not any("number" in note for note in only.notes)
    path.unlink()


def test_one_class_is_none(model: Classifier, photos: Path, tmp_path: Path) -> None:
    shutil.copytree(photos / "above", tmp_path / "half" / "above")
    with pytest.raises(UserError, match="images of 'above' alone"):
        select_images(model, ImageSelection(str(tmp_path / "half"), tmp_path))
    (tmp_path / "broken" / "above").mkdir(parents=True)
    (tmp_path / "broken" / "above" / "1.png").write_text("no image")
    with pytest.raises(UserError, match=r"none of the 1 images of .* can be read"):
        select_images(model, ImageSelection(str(tmp_path / "broken"), tmp_path))


def test_a_run_is_audited_on_what_it_has_not_seen(folder_run: Run, photos: Path, tmp_path: Path) -> None:
    found = select_images(open_model(str(folder_run.path)), ImageSelection(str(photos), tmp_path, split="test"))
    assert len(found.data) == len(folder_run.predictions) and found.data.split == "test"
    assert (found.data.y == folder_run.predictions.y).all() and SEEN not in found.notes
    assert found.training is not None and not set(found.training.names) & set(found.data.names)


def test_a_dataset_with_the_settings_of_the_run(tiny_run: Run, tmp_path: Path) -> None:
    model, q = open_model(str(tiny_run.path)), tiny_run.config["data_options"]["q"]
    own = select_images(model, ImageSelection("biased-digits", tmp_path))
    assert len(own.data) == 1000 and own.training is not None
    assert abs((own.training.bias["colour"] == own.training.y).mean() - q) < 0.005
    assert SEEN not in own.notes
    changes = {"q": 0.5, "validation": 0.1}  # of images that this run was trained on
    other = select_images(model, ImageSelection("biased-digits", tmp_path, split="validation", changes=changes))
    assert abs((other.data.bias["colour"] == other.data.y).mean() - 0.5) < 0.05 and SEEN in other.notes


@pytest.mark.parametrize(
    ("choice", "part"),
    [
        ({"name": "biased-digit"}, "did you mean 'biased-digits'"),
        ({"name": "nowhere.csv"}, "no folder or file .nowhere.csv."),
        ({"name": "biased-digits", "changes": {"p": 1}}, "unknown setting 'p' of biased-digits"),
        ({"name": "biased-digits", "changes": {"validation": 0}, "split": "validation"}, "no validation split"),
        ({"name": "biased-digits"}, "takes images of 16 x 16, and biased-digits has them at 28 x 28"),
        ({"name": "PHOTOS", "changes": {"q": 0.9}}, "settings are for datasets"),
        ({"name": "PHOTOS", "columns": ("age",)}, "'age' is a column|attribute age is a column"),
        ({"name": "PHOTOS/above"}, "36 images lie directly in"),
    ],
)
def test_mistakes(choice: dict, part: str, model: Classifier, photos: Path, tmp_path: Path) -> None:  # type: ignore[type-arg]
    named = {**choice, "name": choice["name"].replace("PHOTOS", str(photos))}
    with pytest.raises(UserError, match=part):
        select_images(model, ImageSelection(root=tmp_path, **named))


def test_a_row_without_its_file_moves_no_label(model: Classifier, photos: Path, tmp_path: Path) -> None:
    """A second list that names one file more once found the images of the first."""
    own = Path(shutil.copytree(photos, tmp_path / "own"))
    rows = [f"{path.relative_to(own)},{path.parent.name}" for path in sorted(own.rglob("*.png"))]
    for place in (None, 0, 40, len(rows)):
        listed = rows if place is None else [*rows[:place], "above/mistyped.png,above", *rows[place:]]
        (own / "list.csv").write_text("\n".join(["path,label", *listed]))
        data = select_images(model, ImageSelection(str(own / "list.csv"), tmp_path)).data
        assert [str(name) for name in data.names] == [row.partition(",")[0] for row in rows]
        assert [data.task.classes[y] for y in data.y] == [row.partition(",")[2] for row in rows]
        bright = data.images[:, :9].mean((1, 2, 3)) > data.images[:, 9:].mean((1, 2, 3))
        assert (bright == (data.y == data.task.classes.index("above"))).all()
