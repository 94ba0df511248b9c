"""Ready-made sets: both public layouts read, and every file that is not right named."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cifar_toy import photographs
from fairflac.data.sets.corrupted_cifar10 import CorruptedCIFAR10
from fairflac.errors import UserError

IMAGES = photographs(40)
ATTRIBUTES = np.stack([np.tile(np.arange(10), 4), np.tile(np.arange(10), 4)], axis=1).astype(np.uint8)
ATTRIBUTES[30:, 1] = (ATTRIBUTES[30:, 1] + 1) % 10  # ten of forty conflict


def arrays(folder: Path) -> Path:
    for skew in ("0.05", "0.005"):
        for part in ("train", "valid"):
            place = folder / f"CorruptedCIFAR10-Type1-Skewed{skew}-Severity4" / part
            place.mkdir(parents=True)
            np.save(place / "images.npy", IMAGES)
            np.save(place / "attrs.npy", ATTRIBUTES)
    return folder


def pictures(folder: Path) -> Path:
    top = folder / "cifar10c"
    for number, (image, (y, bias)) in enumerate(zip(IMAGES, ATTRIBUTES, strict=True)):
        kind = "align" if y == bias else "conflict"
        for place in (f"1pct/{kind}/{y}", f"1pct/valid/{y}", f"test/{y}"):
            (top / place).mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(top / place / f"{number}_{y}_{bias}.png")
    (top / "1pct" / "align" / ".DS_Store").write_bytes(b"x")
    return folder


def get(source: Path, root: Path) -> list[str]:
    said: list[str] = []
    CorruptedCIFAR10.get(root, source, said.append)
    return said


@pytest.mark.parametrize("inside", [False, True])
def test_arrays(inside: bool, tmp_path: Path) -> None:
    source = arrays(tmp_path / "source")
    said = get(next(source.iterdir()) if inside else source, tmp_path / "root")
    assert len(said) == (2 if inside else 4) and "10 of them conflict with their corruption, ready-made" in said[0]
    q = 0.95 if "0.95" in said[0] else 0.995
    data = CorruptedCIFAR10(0, type=1, severity=5, q=q, validation=0)  # LfF's severity 4 is level 5
    train, test = data.load(tmp_path / "root", "train"), data.load(tmp_path / "root", "test")
    assert train is not None and test is not None and train.task.attributes["corruption"].values[0] == "gaussian-noise"
    np.testing.assert_array_equal(train.images, IMAGES)
    np.testing.assert_array_equal(np.stack([train.y, train.bias["corruption"]], axis=1), ATTRIBUTES)
    assert CorruptedCIFAR10.check(tmp_path / "root")[0].startswith("test-type1-severity5.npz: 40 images")


@pytest.mark.parametrize("inside", [False, True])
def test_pictures(inside: bool, tmp_path: Path) -> None:
    source = pictures(tmp_path / "source")
    said = get(source / "cifar10c" if inside else source, tmp_path / "root")
    assert [line.split(",")[0].split()[-1] for line in said] == [
        "train-archive-q0.99.npz",
        "validation-archive-q0.99.npz",
        "test-archive.npz",
    ]
    data = CorruptedCIFAR10(0, type="archive", q=0.99)
    for split in ("train", "validation", "test"):
        loaded = data.load(tmp_path / "root", split)  # type: ignore[arg-type]
        assert loaded is not None and len(loaded) == 40 and int((loaded.y != loaded.bias["corruption"]).sum()) == 10
        order = [int(name.rpartition("/")[2].partition("_")[0]) for name in loaded.names]
        np.testing.assert_array_equal(loaded.images, IMAGES[order])
        np.testing.assert_array_equal(loaded.y, ATTRIBUTES[order, 0])
        assert loaded.task.attributes["corruption"].values[9] == "corruption 9"
    assert CorruptedCIFAR10(0, type="archive", q=0.99, validation=0).load(tmp_path / "root", "validation") is None


def test_an_archive_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"train-archive-q0.98.npz' is missing: run .* --from FOLDER' with the pictures"
    ):
        CorruptedCIFAR10(0, type="archive", q=0.98).load(tmp_path, "train")
    with pytest.raises(UserError, match=r"validation_q = 0.1 needs clean images, which the archive has not: remove it"):
        CorruptedCIFAR10(0, type="archive", validation_q=0.1)


def broken_array(folder: Path) -> None:
    path = arrays(folder) / "CorruptedCIFAR10-Type1-Skewed0.005-Severity4" / "train"
    (path / "images.npy").write_bytes(b"junk")


def missing_array(folder: Path) -> None:
    (arrays(folder) / "CorruptedCIFAR10-Type1-Skewed0.005-Severity4" / "valid" / "attrs.npy").unlink()


def wrong_array(folder: Path) -> None:
    np.save(arrays(folder) / "CorruptedCIFAR10-Type1-Skewed0.05-Severity4" / "valid" / "attrs.npy", ATTRIBUTES + 1)


def small_array(folder: Path) -> None:
    np.save(arrays(folder) / "CorruptedCIFAR10-Type1-Skewed0.05-Severity4" / "valid" / "images.npy", IMAGES[:, 4:])


def broken_picture(folder: Path) -> None:
    (pictures(folder) / "cifar10c/1pct/align/3/13_3_3.png").write_bytes(b"junk")


def small_picture(folder: Path) -> None:
    Image.new("RGB", (28, 32)).save(pictures(folder) / "cifar10c/1pct/align/3/13_3_3.png")


def misnamed_picture(folder: Path) -> None:
    path = pictures(folder) / "cifar10c/test/3/13_3_3.png"
    path.rename(path.with_name("13.png"))


def no_test(folder: Path) -> None:
    path = pictures(folder) / "cifar10c/test"
    path.rename(path.with_name("tests"))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (broken_array, r"0\.005-Severity4/train/images\.npy' is damaged .*: unpack the set again"),
        (missing_array, r"0\.005-Severity4/valid/attrs\.npy' is missing: unpack the whole set"),
        (wrong_array, r"0\.05-Severity4/valid/attrs\.npy' should hold a class and a corruption, 0-9, for each image"),
        (small_array, r"valid/images\.npy' is uint8 \(40, 28, 32, 3\), not uint8 \(N, 32, 32, 3\)"),
        (broken_picture, r"align/3/13_3_3\.png' cannot be read .*: unpack the set again"),
        (small_picture, r"align/3/13_3_3\.png' is 28 x 32, not 32 x 32"),
        (misnamed_picture, r"test/3/13\.png': its name should end with _LABEL_BIAS\.png"),
        (no_test, r"cifar10c/test' has no pictures: unpack the whole set"),
    ],
)
def test_wrong_files_are_named(make: Callable[[Path], None], complaint: str, tmp_path: Path) -> None:
    make(tmp_path / "source")
    with pytest.raises(UserError, match=complaint):
        get(tmp_path / "source", tmp_path / "root")
