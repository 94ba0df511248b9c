"""The estimator on image files: folders, CSV files, and files to predict."""

import os
from pathlib import Path

import numpy as np
import pytest

from estimator.planted import TOY, TOY_NET, lines, save_folder
from fairflac import FLACClassifier
from fairflac.errors import UserError

SETTINGS = {**TOY, **TOY_NET, "size": 8}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRFLAC_DATA", str(tmp_path / "data"))
    x, y, _ = lines(40)
    return save_folder(tmp_path / "photos", x, y)


def test_a_folder_is_trained_on_its_training_part_and_judged_by_the_rest(folder: Path, tmp_path: Path) -> None:
    model = FLACClassifier(**SETTINGS).fit(folder)
    assert list(model.classes_) == ["horizontal", "vertical"]
    assert model.bias_quality_["n"] == 32  # four fifths
    assert model.score(folder) in np.arange(9) / 8
    assert model.score(str(folder)) == model.score(folder)
    x, y, _ = lines(10, seed=1)
    elsewhere = save_folder(tmp_path / "others", x, y)
    files = sorted(elsewhere.rglob("*.png"))
    right = [model.predict([file])[0] == file.parent.name for file in files]
    assert model.score(elsewhere) == np.mean(right)  # all of it: nothing there was trained on


def test_rows_are_files_in_order(folder: Path) -> None:
    model = FLACClassifier(**SETTINGS).fit(folder)
    (folder / ".hidden").write_text("no image")
    files = sorted(folder.rglob("*.png"))
    shares = model.predict_proba(folder)
    assert shares.shape == (40, 2)
    np.testing.assert_allclose(model.predict_proba([str(file) for file in files[::-1]]), shares[::-1], atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(files[3]), shares[3:4], atol=1e-6)


def test_an_array_after_a_folder(folder: Path) -> None:
    """Arrays go through the same scaling as files."""
    model = FLACClassifier(**SETTINGS).fit(folder)
    x, y, _ = lines(40)
    by_name = np.argsort([f"{label}/{number:03d}" for number, label in enumerate(y)])
    np.testing.assert_allclose(model.predict_proba(x)[by_name], model.predict_proba(folder), atol=1e-6)


def test_a_csv_file_with_an_attribute(folder: Path) -> None:
    _, y, shade = lines(40)
    rows = [
        f"{label}/{n:03d}.png,{label},{('dark', 'bright')[s]}"
        for n, (label, s) in enumerate(zip(y, shade, strict=True))
    ]
    (folder / "list.csv").write_text("\n".join(["path,label,shade", *rows]))
    model = FLACClassifier(**SETTINGS).fit(folder / "list.csv", attribute="shade")
    assert "agreement:shade" in model.bias_quality_
    assert model.predict(folder / "list.csv").shape == (40,)
    with pytest.raises(UserError, match="did you mean 'shade'"):
        FLACClassifier(**SETTINGS).fit(folder / "list.csv", attribute="shades")


def test_mistakes(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="leave out y"):
        FLACClassifier(**SETTINGS).fit(folder, ["cat", "dog"])
    with pytest.raises(UserError, match="no file"):
        FLACClassifier(**SETTINGS).fit(tmp_path / "nowhere")
    with pytest.raises(UserError, match="name a column"):
        FLACClassifier(**SETTINGS).fit(folder, attribute=[1, 2])
    model = FLACClassifier(**SETTINGS).fit(folder)
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(ValueError, match=r"1 of 1 files cannot be read as images: '.*notes.txt'"):
        model.predict(tmp_path / "notes.txt")
    os.mkdir(tmp_path / "empty")
    with pytest.raises(ValueError, match="no image files"):
        model.predict(tmp_path / "empty")


def test_after_arrays_a_folder_is_judged_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, _ = lines(40)
    model = FLACClassifier(**TOY, **TOY_NET).fit(x, y)
    monkeypatch.chdir(folder)
    assert model.score(".") == model.score(x, y)
