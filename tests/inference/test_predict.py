import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from fairflac.data.own.sheet import ColumnChoice
from fairflac.errors import UserError
from fairflac.inference import predict as predicting
from fairflac.inference.model import Classifier
from fairflac.inference.open import open_model
from fairflac.inference.predict import answers, find_images
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery


def mean_shade(sizes: list[int] | None = None) -> Classifier:
    """The brighter an image, the surer class 1; notes the sizes of the batches it gets."""

    def logits(images: np.ndarray) -> np.ndarray:
        if sizes is not None:
            sizes.append(len(images))
        shade = images.mean((1, 2, 3)) / 255
        return np.stack([0 * shade, shade, shade - 1], 1).astype(np.float32)

    return Classifier("a toy", logits, (4, 4), (4, 4), None)


def draw(path: Path, shade: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (5, 4), (shade, shade, shade)).save(path)
    return path


def test_test_images_get_the_predictions_they_had_in_training(folder_run: Run, photos: Path) -> None:
    table, gallery = folder_run.predictions, Gallery.load(folder_run.gallery)
    paths = [photos / name for name in gallery.names]
    found = list(answers(open_model(str(folder_run.path)), paths, top=2))
    assert [answer.path for answer in found] == [str(path) for path in paths] and len(found) == len(table) > 5
    assert set(table.prediction) == {0, 1}
    names = np.array(["above", "below"])[table.prediction[gallery.index]]
    assert [answer.guesses[0].name for answer in found] == names.tolist()
    scores = [answer.guesses[0].probability for answer in found]
    assert np.allclose(scores, table.score[gallery.index], atol=1e-4)
    assert all(sum(one.probability for one in answer.guesses) == pytest.approx(1, abs=1e-5) for answer in found)


def test_files_and_folders_at_any_depth_sorted_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b/x/2.png", "b/1.png", "a.png", "c.JPG", "b/.hidden.png", "b/.git/3.png"):
        draw(Path(name), 9)
    Path("b/notes.txt").write_text("no image")
    draw(Path("photo.png"), 9).rename("b/without_ending")
    found = find_images([Path("c.JPG"), Path("b"), Path("a.png"), Path("b/1.png")])
    assert [str(path) for path in found] == ["a.png", "b/1.png", "b/without_ending", "b/x/2.png", "c.JPG"]
    with pytest.raises(UserError, match=r"there is no 'd\.png'"):
        find_images([Path("d.png")])
    Path("empty").mkdir()
    with pytest.raises(UserError, match="no images in 'empty'"):
        find_images([Path("empty")])


def test_many_files_in_batches_with_broken_ones_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicting, "BATCH", 8)
    paths = [draw(tmp_path / f"{i:03}.png", i) for i in range(100)]
    paths[17].write_bytes(b"no image")
    paths[42].write_bytes(paths[41].read_bytes()[:40])
    paths[99].unlink()
    sizes: list[int] = []
    found = list(answers(mean_shade(sizes), paths, top=5))
    assert [answer.path for answer in found] == [str(path) for path in paths]
    assert [i for i, answer in enumerate(found) if answer.unreadable] == [17, 42, 99]
    assert sum(sizes) == 97 and max(sizes) == 8
    assert all(len(answer.guesses) == 3 for answer in found if not answer.unreadable)  # there are no more classes
    of_one = [next(g.probability for g in a.guesses if g.name == "1") for a in found if not a.unreadable]
    assert of_one == sorted(of_one) and of_one[0] < of_one[-1]


def test_images_are_not_all_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the list, no file is opened before its turn is near."""
    monkeypatch.setattr(predicting, "BATCH", 2)
    monkeypatch.setattr("fairflac.data.pixels.files.AHEAD", 4)
    paths = [draw(tmp_path / f"{i:03}.png", i) for i in range(60)]
    asked = answers(mean_shade(), paths)
    next(asked)
    for path in paths[20:]:
        os.truncate(path, 0)
    assert [answer.unreadable is None for answer in asked].count(False) == 40


def test_tables_of_images_need_no_labels(tmp_path: Path) -> None:
    for name in ("b.png", "a.png"):
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    (tmp_path / "list.csv").write_text("photo,taken\nb.png,2020\na.png,2021\n")
    pq.write_table(pa.table({"image": [(tmp_path / "a.png").read_bytes()] * 2}), tmp_path / "rows.parquet")
    (tmp_path / "shards").mkdir()
    (tmp_path / "rows.parquet").rename(tmp_path / "shards" / "rows.parquet")
    rows = [Path(f"{tmp_path}/shards/rows.parquet#image:{number}") for number in (0, 1)]
    listed = [tmp_path / "b.png", tmp_path / "a.png"]
    assert find_images([tmp_path / "list.csv"], ColumnChoice("photo")) == listed  # as the table has them
    assert find_images([tmp_path / "shards"]) == find_images([tmp_path / "shards" / "rows.parquet"]) == rows
    assert find_images([tmp_path / "shards", rows[1], listed[0]]) == [listed[0], rows[1], rows[0]]  # each once
    with pytest.raises(UserError, match="has no column 'path': it has photo, taken"):
        find_images([tmp_path / "list.csv"])
