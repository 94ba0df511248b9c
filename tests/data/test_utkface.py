import tarfile
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from PIL import Image

from data.portraits import draw, draw_all
from fairflac.data.sets import utkface as module
from fairflac.data.sets.utkface import Label, UTKFace, divide, label_faces, list_names, parse, skew
from fairflac.errors import UserError

BROKEN_NAME = "61_1_20170109142408075.jpg.chip.jpg"


def file_name(age: int, gender: int, race: int, number: int = 0) -> str:
    return f"{age}_{gender}_{race}_{20170109142408075 + number}.jpg.chip.jpg"


def many() -> list[str]:
    """20 of every gender, race and of ages around the borders."""
    return [file_name(a, g, r, i) for a, g, r, i in product((5, 10, 11, 19, 20, 60), (0, 1), range(2), range(20))]


def tree(root: Path, names: list[str]) -> Path:
    draw_all(root / "utkface" / "images", names)
    return root


# --- names and labels ---


@pytest.mark.parametrize(
    ("name", "label"),
    [
        (file_name(100, 1, 4), Label(100, 1, 4)),
        ("24_0_1_20170116220224657 .jpg.chip.jpg", Label(24, 0, 1)),
        ("55_0_0_20170116232725357jpg.chip.jpg", Label(55, 0, 0)),
        (BROKEN_NAME, None),
        (file_name(20, 2, 0), None),
        (file_name(20, 1, 5), None),
        ("20_1__20170109142408075.jpg", None),
        ("a_1_0_20170109142408075.jpg", None),
        ("²_1_0_20170109142408075.jpg", None),
        ("face.jpg", None),
    ],
)
def test_labels_are_in_the_name(name: str, label: Label | None) -> None:
    assert parse(name) == label


def test_race_is_white_or_not() -> None:
    faces = label_faces([file_name(30, 1, race) for race in range(5)], "race")
    assert faces.bias["race"].tolist() == [0, 1, 1, 1, 1] and faces.y.tolist() == [1] * 5


def test_ages_between_are_left_out() -> None:
    faces = label_faces([file_name(age, 0, 0) for age in (1, 10, 11, 19, 20, 99)], "age")
    assert [int(name.partition("_")[0]) for name in faces.names] == [1, 10, 20, 99]
    assert faces.bias["age"].tolist() == [1, 1, 0, 0]


# --- the biased splits ---


@pytest.mark.parametrize(("aligned", "conflicting"), [(40, 4), (49, 4), (9, 0), (0, 0)])
def test_one_conflicting_image_for_ten_aligned_ones(aligned: int, conflicting: int) -> None:
    y = np.array([0] * aligned + [1] * 30 + [1] * 50)
    bias = np.array([0] * aligned + [0] * 30 + [1] * 50)
    kept = skew(np.random.default_rng(0).permutation(len(y)), y, bias)
    assert len(np.unique(kept)) == len(kept)
    groups = np.bincount(2 * y[kept] + bias[kept], minlength=4)
    assert groups.tolist() == [aligned, 0, conflicting, 50]


@pytest.mark.parametrize("bias", ["race", "age"])
def test_splits_follow_the_rule(bias: Literal["race", "age"]) -> None:
    faces = label_faces(sorted(many()), bias)
    places = divide(faces, bias, 0, np.arange(len(faces)))
    n = len(faces)
    assert len(places["validation"]) == len(places["test"]) == round(0.1 * n)
    everything = np.concatenate(list(places.values()))
    assert len(np.unique(everything)) == len(everything) < n
    train = places["train"]
    groups = np.bincount(2 * faces.y[train] + faces.bias[bias][train], minlength=4)
    assert groups[2] == groups[0] // 10 > 0 and groups[1] == groups[3] // 10 > 0
    other = divide(faces, bias, 1, np.arange(len(faces)))
    assert not np.array_equal(other["test"], places["test"])


def test_copies_stay_together(tmp_path: Path) -> None:
    names = [file_name(30, i % 2, i % 4 // 2, i) for i in range(60)]
    for i, name in enumerate(names):
        draw(tmp_path / "utkface/images" / name, like=names[i // 2])
    parts = [UTKFace(size=8).load(tmp_path, split) for split in ("train", "validation", "test")]
    seen = [{names.index(name) // 2 for name in part.names} for part in parts]
    assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2])
    assert [len(part) for part in parts[1:]] == [6, 6]


def test_the_order_of_the_directory_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tree(tmp_path / "a", many()), tree(tmp_path / "b", many()[::-1])
    glob = Path.glob
    monkeypatch.setattr(Path, "glob", lambda self, pattern: reversed(list(glob(self, pattern))))
    assert list_names(first)[0] == list_names(second)[0] == sorted(many())
    for split in ("train", "validation", "test"):
        a, b = UTKFace(1, size=8).load(first, split), UTKFace(2, size=8).load(second, split)
        assert a.names.tolist() == b.names.tolist()  # nor does the seed of the run
        np.testing.assert_array_equal(a.images, b.images)


def test_images_and_labels_go_together(tmp_path: Path) -> None:
    tree(tmp_path, [*many(), BROKEN_NAME])
    (tmp_path / "utkface/images" / many()[0]).write_bytes(b"no image")
    data = UTKFace(bias="age", size=16).load(tmp_path, "train")
    assert data.images.shape[1:] == (18, 18, 3) and data.task.image_size == (16, 16)
    assert data.task.classes == ("male", "female") and list(data.bias) == ["age"]
    assert many()[0] not in data.names and BROKEN_NAME not in data.names
    for i in range(0, len(data), 7):
        age, gender, _, _ = data.names[i].split("_")
        assert (data.y[i], data.bias["age"][i]) == (int(gender), int(int(age) <= 10))
        own = np.asarray(Image.open(tmp_path / "utkface/images" / data.names[i]))
        np.testing.assert_array_equal(data.images[i][0, 0], own[0, 0])
    with pytest.raises(UserError, match=r"1 of 480 files in .* cannot be read"):
        UTKFace(strict=True).load(tmp_path, "train")


# --- getting and checking ---


def test_get_and_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = many()[::5]
    source = draw_all(tmp_path / "have" / "UTKFace", [*names, BROKEN_NAME])
    said: list[str] = []
    UTKFace.get(tmp_path, source, said.append)
    assert said[1] == f"1 files are left out, their names lack a field: {BROKEN_NAME}"
    with pytest.raises(UserError, match="has 97 images, not 23708"):
        UTKFace.check(tmp_path)
    monkeypatch.setattr(module, "FILES", 97)
    assert UTKFace.check(tmp_path) == [
        "97 images",
        said[1],
        "race: 96 images (white male 24, not white male 24, white female 24, not white female 24)",
        "age: 64 images (adult male 16, child male 16, adult female 16, child female 16)",
    ]
    (tmp_path / "utkface/images" / names[3]).write_bytes(b"torn")
    with pytest.raises(UserError, match=f"1 of 97 files in .* cannot be read .*{names[3]}"):
        UTKFace.check(tmp_path)


def test_get_says_what_to_do(tmp_path: Path) -> None:
    said: list[str] = []
    UTKFace.get(tmp_path, None, said.append)
    assert any("--from" in line for line in said) and any("110 MB" in line for line in said)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "utkface").mkdir()
    with pytest.raises(UserError, match="has no images of UTKFace"):
        UTKFace().load(tmp_path, "train")


# --- the real files ---


@pytest.fixture(scope="module")
def real_names(utkface_tar: Path) -> list[str]:
    with tarfile.open(utkface_tar) as tar:
        return [Path(member.name).name for member in tar if member.isfile()]


def test_the_real_names(real_names: list[str]) -> None:
    assert len(real_names) == module.FILES
    assert sorted(name for name in real_names if parse(name) is None) == [
        "39_1_20170116174525125.jpg.chip.jpg",
        "61_1_20170109142408075.jpg.chip.jpg",
        "61_1_20170109150557335.jpg.chip.jpg",
    ]


@pytest.mark.parametrize(("bias", "number"), [("race", 23705), ("age", 22330)])
def test_the_real_splits(bias: Literal["race", "age"], number: int, real_names: list[str]) -> None:
    faces = label_faces(sorted(real_names), bias)
    assert len(faces) == number
    places = divide(faces, bias, 0, np.arange(number))
    assert len(places["validation"]) + len(places["test"]) == number - round(0.8 * number)
    train = places["train"]
    groups = np.bincount(2 * faces.y[train] + faces.bias[bias][train])
    assert groups[2] == groups[0] // 10 and groups[1] == groups[3] // 10
    aligned = np.sum(faces.y == faces.bias[bias])
    assert abs(groups[0] + groups[3] - 0.8 * aligned) < 0.02 * aligned
    assert abs(np.mean(faces.y[train] == faces.bias[bias][train]) - 1 / 1.1) < 1e-3


def test_a_few_of_the_real_images(utkface_tar: Path, tmp_path: Path) -> None:
    with tarfile.open(utkface_tar) as tar:
        for _ in range(200):
            member = tar.next()
            if member is not None and member.isfile():
                tar.extract(member, tmp_path, filter="data")
    UTKFace.get(tmp_path, tmp_path / "UTKFace", lambda line: None)
    data = UTKFace().load(tmp_path, "test")
    assert data.images.shape == (20, 72, 72, 3) and np.asarray(data.images).std() > 20
