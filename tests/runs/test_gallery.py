"""Which test images are kept with a run."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fairflac.data.base import BiasedDataset
from fairflac.errors import UserError
from fairflac.runs import gallery
from fairflac.runs.gallery import Gallery
from fairflac.types import Attribute, TaskSpec
from reporting.hand_made import table

TABLE = table(1.0, 0.5)


def split(side: int = 8) -> BiasedDataset:
    """The images that belong to `TABLE`: their brightness says which they are."""
    images = np.broadcast_to(
        (np.arange(len(TABLE)) % 256).astype(np.uint8)[:, None, None, None], (len(TABLE), side, side, 3)
    )
    values = ("a", "b", "c", "d")
    task = TaskSpec(values, {"hue": Attribute(values, (0, 1, 2, 3))}, (side, side), (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    names = np.array([f"{i}.png" for i in range(len(TABLE))])
    return BiasedDataset(images, TABLE.y, TABLE.bias, names, "test", task)


def test_every_group_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "SHOWN", 40)
    monkeypatch.setattr(gallery, "MISTAKES", 0)
    keep = (TABLE.y != 0) | (TABLE.bias["hue"] != 1) | (TABLE.index % 20 == 0)  # a group with a single image
    data = split()
    small = replace(
        data, images=data.images[keep], y=data.y[keep], bias={"hue": data.bias["hue"][keep]}, names=data.names[keep]
    )
    chosen = Gallery.of(small, TABLE).index
    assert len(chosen) == len(set(chosen)) == 40
    groups = np.unique(np.stack([small.y[chosen], small.bias["hue"][chosen]]), axis=1, return_counts=True)[1]
    assert sorted(groups) == [1, *[2] * 6, *[3] * 9]  # 39 images for 15 groups


def test_the_surest_mistakes_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "SHOWN", 0)
    monkeypatch.setattr(gallery, "MISTAKES", 3)
    wrong = np.flatnonzero(TABLE.prediction != TABLE.y)
    score = np.zeros(len(TABLE))
    score[wrong[[5, 9, 2]]] = [0.9, 0.8, 0.7]
    score[TABLE.prediction == TABLE.y] = 1.0
    assert Gallery.of(split(), replace(TABLE, score=score)).index.tolist() == wrong[[2, 5, 9]].tolist()


def test_images_are_small_and_their_own(tmp_path: Path) -> None:
    Gallery.of(split(side=100), TABLE).save(tmp_path / "gallery.npz")
    stored = Gallery.load(tmp_path / "gallery.npz")
    assert stored.images.shape[1:] == (64, 64, 3)
    assert (stored.images[:, 5, 7, 1] == stored.index % 256).all()
    assert stored.names.tolist() == [f"{i}.png" for i in stored.index]


def test_an_overview_has_every_image_where_not_all_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "SHOWN", 40)
    Gallery.of(split(side=100), TABLE).save(tmp_path / "gallery.npz")
    stored = Gallery.load(tmp_path / "gallery.npz").overview
    assert stored is not None and stored.index.tolist() == list(range(len(TABLE))) and stored.ratio == 1
    with Image.open(BytesIO(stored.sheet.tobytes())) as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    for place in (0, 77, 319):
        line, column = divmod(place, stored.columns)
        assert pixels[32 * line + 16, 32 * column + 16, 0] == pytest.approx(place % 256, abs=2)
    monkeypatch.setattr(gallery, "SHOWN", len(TABLE))
    assert Gallery.of(split(), TABLE).overview is None  # all are there already


def test_an_overview_of_many_images_has_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "MOST_SHOWN", 100)
    monkeypatch.setattr(gallery, "AREA", 100 * 10**2)
    made = gallery.Overview.of(split(side=40).images)
    assert len(made.index) == 100 and made.columns == 10
    with Image.open(BytesIO(made.sheet.tobytes())) as sheet:
        assert sheet.size == (100, 100)


def test_a_damaged_overview_is_said(tmp_path: Path) -> None:
    small = Gallery.of(split(), TABLE)
    np.savez(tmp_path / "gallery.npz", index=small.index, images=small.images, names=small.names, overview_index=[1])
    with pytest.raises(UserError, match="damaged"):
        Gallery.load(tmp_path / "gallery.npz")
