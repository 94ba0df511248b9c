from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from PIL import Image

from data.portraits import draw
from fairflac.data.sets import celeba as module
from fairflac.data.sets.celeba import TEST, TRAIN, VALIDATION, CelebA, group_counts, read_annotations, warn_of_few
from fairflac.data.sets.faces import Faces
from fairflac.errors import UserError

COLUMNS = ["5_o_Clock_Shadow", "Blond_Hair", "Heavy_Makeup", "Male", "Young"]
PER_GROUP = 40
Split = Literal["train", "validation", "test"]


def write_lists(folder: Path, *, reverse: bool = False) -> list[str]:
    """40 images of every part, hair, makeup and gender, in the form of the official files."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = list(product((0, 1, 2), (0, 1), (0, 1), (0, 1))) * PER_GROUP
    names = [f"{i + 1:06d}.jpg" for i in range(len(kinds))]
    order = range(len(kinds))[:: -1 if reverse else 1]
    sign = {0: "-1", 1: " 1"}
    lines = [
        f"{names[i]} " + " ".join(sign[value] for value in (1, blond, makeup, male, 0))
        for i in order
        for _, blond, makeup, male in [kinds[i]]
    ]
    (folder / "list_attr_celeba.txt").write_text("\n".join([str(len(kinds)), " ".join(COLUMNS) + " ", *lines]) + "\n")
    parts = "".join(f"{names[i]} {kinds[i][0]}\n" for i in order)
    (folder / "list_eval_partition.txt").write_text(parts)
    return names


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in write_lists(tmp_path / "celeba"):
        draw(tmp_path / "celeba/img_align_celeba" / name, size=(17, 21))
    monkeypatch.setattr(module, "WOMEN_NOT_BLOND", 7)
    return tmp_path


def load(root: Path, split: Split, **options: object) -> module.BiasedDataset:
    return CelebA(size=16, **options).load(root, split)  # type: ignore[arg-type]


def groups(data: module.BiasedDataset) -> dict[str, int]:
    return group_counts(Faces(data.names, data.y, dict(data.bias)), data.task.classes)


def part_of(name: str) -> int:
    return (int(name[:6]) - 1) % 24 // 8


# --- labels ---


def test_labels_follow_the_lists(root: Path) -> None:
    data = load(root, "test")
    assert data.task.classes == ("not blond", "blond") and data.task.attributes["gender"].values == ("male", "female")
    assert data.images.shape == (320, 16, 16, 3)  # the whole picture, squeezed
    for i in range(0, 320, 17):
        number = int(data.names[i][:6]) - 1
        _, blond, _, male = list(product((0, 1, 2), (0, 1), (0, 1), (0, 1)))[number % 24]
        assert (data.y[i], data.bias["gender"][i]) == (blond, 1 - male)
        own = np.asarray(Image.open(root / "celeba/img_align_celeba" / data.names[i]))
        np.testing.assert_allclose(data.images[i, 8, 8].astype(int), own[8, 8].astype(int), atol=2)


def test_makeup_keeps_every_training_image(root: Path) -> None:
    assert groups(load(root, "train", label="makeup")) == {
        "male no heavy makeup": 80, "female no heavy makeup": 80, "male heavy makeup": 80, "female heavy makeup": 80,
    }  # fmt: skip


def test_few_distinct_women_who_are_not_blond(root: Path) -> None:
    data = load(root, "train")
    assert groups(data) == {"male not blond": 80, "female not blond": 7, "male blond": 80, "female blond": 80}
    assert len(set(data.names.tolist())) == len(data)
    again, other = load(root, "train"), load(root, "train", split_seed=1)
    assert again.names.tolist() == data.names.tolist()
    assert set(other.names.tolist()) ^ set(data.names.tolist())
    for split in ("validation", "test"):  # what is measured stays whole
        assert set(groups(load(root, split)).values()) == {80}


def test_2000_women_is_the_rule() -> None:
    assert module.WOMEN_NOT_BLOND == 2000


# --- splits ---


def test_the_official_parts_are_the_default(root: Path) -> None:
    for split, part in (("train", TRAIN), ("validation", VALIDATION), ("test", TEST)):
        assert {part_of(name) for name in load(root, split, label="makeup").names} == {part}


@pytest.mark.parametrize("label", ["blond", "makeup"])
def test_the_authors_test_on_the_validation_part(label: str, root: Path) -> None:
    options = {"label": label, "protocol": "authors"}
    train, validation, test = (load(root, split, **options) for split in ("train", "validation", "test"))
    assert {part_of(name) for name in test.names} == {VALIDATION} and len(test) == 320
    assert {part_of(name) for name in [*train.names, *validation.names]} == {TRAIN}
    total = 247 if label == "blond" else 320
    assert (len(train), len(validation)) == (round(0.8 * total), total - round(0.8 * total))
    assert not set(train.names.tolist()) & set(validation.names.tolist())


def test_neither_the_order_of_lines_nor_the_seed_matters(root: Path) -> None:
    before = CelebA(0, size=16, protocol="authors").load(root, "train")
    write_lists(root / "celeba", reverse=True)
    after = CelebA(5, size=16, protocol="authors").load(root, "train")
    assert before.names.tolist() == after.names.tolist() and before.y.tolist() == after.y.tolist()


# --- small groups ---


def test_small_groups_are_announced(capsys: pytest.CaptureFixture[str]) -> None:
    y, gender = np.array([0] * 60 + [1] * 39), np.array([0, 1] * 30 + [1] * 30 + [0] * 9)
    faces = Faces(np.arange(99).astype(str), y, {"gender": gender})
    message = "celeba test: the group 'male heavy makeup' has 9 images, one image moves its accuracy by 11.1 points"
    warn_of_few(faces, ("no heavy makeup", "heavy makeup"), "test")
    assert capsys.readouterr().err == message + "\n"
    warn_of_few(faces.take(np.arange(90)), ("no heavy makeup", "heavy makeup"), "test")
    assert "'male heavy makeup' has 0 images, it is not measured" in capsys.readouterr().err


def test_load_announces_them_for_what_is_measured(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load(root, "test")  # 80 of each
    monkeypatch.setattr(module, "FEW", 81)
    load(root, "train")
    assert "the group" not in capsys.readouterr().err
    load(root, "test")
    assert "has 80 images" in capsys.readouterr().err


# --- getting and checking ---


def test_get_and_check(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CelebA.get(tmp_path / "new", root / "celeba", lambda line: None)
    with pytest.raises(UserError, match="lists 320 images for train, not 162770"):
        CelebA.check(tmp_path / "new")
    monkeypatch.setattr(module, "PUBLISHED", dict.fromkeys(module.PUBLISHED, 320))
    lines = CelebA.check(tmp_path / "new")
    assert lines[:2] == [
        "train: 320 images",
        "train blond: male not blond 80, female not blond 80, male blond 80, female blond 80",
    ]
    (tmp_path / "new/celeba/img_align_celeba/000005.jpg").unlink()
    with pytest.raises(UserError, match=r"1 of 960 files in .* '000005\.jpg' \(No such file"):
        CelebA.check(tmp_path / "new")


def test_lists_without_images_are_named(tmp_path: Path) -> None:
    write_lists(tmp_path / "celeba")
    with pytest.raises(UserError, match="img_align_celeba' has none of the 320 images"):
        load(tmp_path, "train", label="makeup")


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("list_attr_celeba.txt", "Male", "Man", "line 2 of .* names no attribute Male"),
        ("list_attr_celeba.txt", "000003.jpg  1", "000003.jpg", "line 5 of .* is not a name and 5 times 1 or -1"),
        ("list_attr_celeba.txt", "000003.jpg", "abc.jpg", "'000003.jpg' is in only one of"),
        ("list_eval_partition.txt", "000003.jpg 0", "000003.jpg 4", "line 3 of .* is not a name and 0, 1 or 2"),
        ("list_eval_partition.txt", "000003.jpg 0\n", "", "'000003.jpg' is in only one of"),
        ("list_eval_partition.txt", "0", "é", "is not a text file"),
    ],
)
def test_wrong_lists_are_named(file: str, old: str, new: str, complaint: str, tmp_path: Path) -> None:
    write_lists(tmp_path)
    path = tmp_path / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=complaint):
        read_annotations(tmp_path, ("Male", "Blond_Hair"))


def test_missing_lists_are_named(tmp_path: Path) -> None:
    (tmp_path / "celeba").mkdir()
    with pytest.raises(UserError, match=r"list_attr_celeba\.txt' cannot be read: 'fairflac data get celeba'"):
        load(tmp_path, "train")
