"""Corrupted-CIFAR10: counted corruptions, held-out images, and sets that are built once."""

from pathlib import Path

import numpy as np
import pytest

from cifar_toy import Arrays, accept, arrays, store
from fairflac.config.options import checked, options_of
from fairflac.config.recipes import recipe_for
from fairflac.config.run_config import TrainConfig
from fairflac.data.sets import corrupted_cifar10
from fairflac.data.sets import corrupted_cifar10 as corrupting
from fairflac.data.sets.corrupted_cifar10 import TYPE0, TYPE1, CorruptedCIFAR10, assign_corruptions
from fairflac.data.sets.corruptions import CORRUPTIONS
from fairflac.errors import UserError


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Arrays:
    content = arrays()
    accept(content, monkeypatch)
    return content


@pytest.fixture
def root(toy: Arrays, tmp_path: Path) -> Path:
    store(tmp_path, toy)
    return tmp_path


@pytest.mark.parametrize(("q", "conflicting"), [(0.95, 250), (0.98, 100), (0.99, 50), (0.995, 25)])
def test_conflicts_are_counted_in_runs(q: float, conflicting: int) -> None:
    """CIFAR-10's 5,000 images per class, point by point as LfF's rule has it."""
    y = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 5000))
    corruptions = assign_corruptions(y, q)
    for label in range(10):
        mine = corruptions[y == label]
        assert (np.diff(mine) >= 0).all() and int((mine != label).sum()) == conflicting
        counts, total = [], 0.0
        for value in range(10):
            start = round(total)
            total += 5000 * (q if value == label else (1 - q) / 9)
            counts.append(round(total) - start)
        assert np.abs(np.bincount(mine, minlength=10) - counts).max() <= 1 and max(np.delete(counts, label)) <= 29


def test_the_test_ratio_is_even() -> None:
    y = np.repeat(np.arange(10), 1000)
    assert (np.bincount(assign_corruptions(y, 0.1) * 10 + y, minlength=100) == 100).all()


def test_both_types_name_ten_corruptions() -> None:
    assert len(set(TYPE0)) == len(set(TYPE1)) == 10 and set(TYPE0) | set(TYPE1) == set(CORRUPTIONS)


@pytest.mark.parametrize("kind", [0, 1])
def test_every_image_has_its_corruption(kind: int, root: Path, toy: Arrays) -> None:
    data = CorruptedCIFAR10(0, type=kind, q=0.5, validation=0)  # type: ignore[arg-type]
    train = data.load(root, "train")
    assert train is not None and len(train) == 200 and train.images.dtype == np.uint8
    values = train.task.attributes["corruption"].values
    assert values == (TYPE0, TYPE1)[kind] and train.task.classes[9] == "truck"
    same = [np.array_equal(train.images[i], toy["x_train"][i]) for i in range(200)]
    clean = [values[value] == "original" for value in train.bias["corruption"]]
    assert same == clean
    contrast = train.bias["corruption"] == values.index("contrast") if kind == 0 else np.zeros(200, bool)
    expected = CORRUPTIONS["contrast"](toy["x_train"][contrast], 5, np.random.default_rng())
    np.testing.assert_array_equal(train.images[contrast], expected)
    test = data.load(root, "test")
    assert test is not None and len(test) == 50 and test.names[3] == "test/00003"


def test_validation_is_held_out_and_as_biased(root: Path) -> None:
    data = CorruptedCIFAR10(3, q=0.8, validation=0.25)
    train, validation = data.load(root, "train"), data.load(root, "validation")
    assert train is not None and validation is not None and (len(train), len(validation)) == (150, 50)
    assert not set(train.names) & set(validation.names)
    for part, per_class, conflicting in ((train, 15, 30), (validation, 5, 10)):
        assert np.bincount(part.y).tolist() == [per_class] * 10
        assert int((part.y != part.bias["corruption"]).sum()) == conflicting
    other = CorruptedCIFAR10(4, q=0.8, validation=0.25).load(root, "validation")
    assert other is not None and set(other.names) != set(validation.names)
    fair = CorruptedCIFAR10(3, q=0.8, validation=0.25, validation_q=0.2).load(root, "validation")
    assert fair is not None and np.array_equal(fair.names, validation.names) and np.array_equal(fair.y, validation.y)
    assert int((fair.y == fair.bias["corruption"]).sum()) == 10
    assert CorruptedCIFAR10(3, validation=0).load(root, "validation") is None


def test_a_set_is_built_once_and_the_same_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = CorruptedCIFAR10(0, validation=0).load(root, "train")
    path = root / "corrupted-cifar10" / "train-type0-severity5-q0.95.npz"
    assert first is not None and path.is_file()
    path.unlink()
    again = CorruptedCIFAR10(1, validation=0).load(root, "train")
    assert again is not None and np.array_equal(first.images, again.images)

    def refuse(*arguments: object) -> np.ndarray:
        raise AssertionError("built twice")

    monkeypatch.setattr(corrupted_cifar10, "corrupt", refuse)
    kept = CorruptedCIFAR10(2, validation=0).load(root, "train")
    assert kept is not None and np.array_equal(first.images, kept.images)
    with pytest.raises(AssertionError, match="built twice"):
        CorruptedCIFAR10(0, validation=0, severity=4).load(root, "train")


@pytest.mark.parametrize("reason", ["damaged", "old"])
def test_a_set_that_will_not_do_is_built_again(reason: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = CorruptedCIFAR10(0, validation=0)
    first = data.load(root, "train")
    path = root / "corrupted-cifar10" / "train-type0-severity5-q0.95.npz"
    if reason == "damaged":
        path.write_bytes(path.read_bytes()[:-50])
        with pytest.raises(UserError, match=r"q0\.95\.npz' is damaged .*: delete it, and it is built again"):
            CorruptedCIFAR10.check(root)
    else:
        monkeypatch.setattr(corrupted_cifar10, "VERSION", 2)
    second = data.load(root, "train")
    assert first is not None and second is not None
    assert np.array_equal(first.images, second.images) == (reason == "damaged")


def test_photographs_of_frost_replace_generated_ones(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = CorruptedCIFAR10(0, validation=0)
    first = data.load(root, "train")
    assert "generated frost" in CorruptedCIFAR10.check(root)[0]
    texture = np.full((60, 60, 3), 255, np.uint8)
    monkeypatch.setattr(corrupted_cifar10, "have_frost", lambda root: True)
    monkeypatch.setattr(corrupted_cifar10, "load_frost", lambda root: [texture])
    second = data.load(root, "train")
    assert first is not None and second is not None and "photographs of frost" in CorruptedCIFAR10.check(root)[0]
    changed = (first.images != second.images).any(axis=(1, 2, 3))
    np.testing.assert_array_equal(changed, first.bias["corruption"] == TYPE0.index("frost"))
    monkeypatch.setattr(corrupted_cifar10, "have_frost", lambda root: False)
    third = data.load(root, "train")  # better than what could be built now
    assert third is not None and np.array_equal(second.images, third.images)


def test_chunks_have_draws_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corrupting, "CHUNK", 2)
    images, corruptions = np.full((4, 32, 32, 3), 128, np.uint8), np.zeros(4, np.int64)
    found = corrupting.corrupt(images, corruptions, ["gaussian-noise"], 5, (0, 0), None)
    assert len(np.unique(found.reshape(4, -1), axis=0)) == 4
    other = corrupting.corrupt(images, corruptions, ["gaussian-noise"], 5, (0, 1), None)
    assert not np.array_equal(found, other)


def test_get_and_check(toy: Arrays, tmp_path: Path) -> None:
    np.savez(tmp_path / "photos.npz", **toy)
    said: list[str] = []
    CorruptedCIFAR10.get(tmp_path / "root", tmp_path, said.append)
    assert any("200 training and 50 test images" in line for line in said)
    assert "generated ones will stand in" in said[-1]
    lines = CorruptedCIFAR10.check(tmp_path / "root")
    assert "frost: generated textures stand in" in lines
    assert lines[-4] == "q = 0.95: 10 of 200 training images conflict with their corruption"
    with pytest.raises(UserError, match="CIFAR-10 is not in"):
        CorruptedCIFAR10().load(tmp_path / "empty", "train")


def test_options_are_checked() -> None:
    options = options_of(CorruptedCIFAR10)
    for wrong in ({"type": 2}, {"severity": 0}, {"severity": 6}, {"q": 0.05}, {"validation": 1}):
        with pytest.raises(UserError):
            checked(options, wrong, "corrupted-cifar10")
    assert checked(options, {"type": "archive"}, "corrupted-cifar10").model_dump()["severity"] == 5


@pytest.mark.parametrize("method", ["vanilla", "gce", "flac", "flac-b"])
def test_recipe(method: str) -> None:
    settings = recipe_for("corrupted-cifar10", method, {})
    known = {*TrainConfig.model_fields, *options_of(CorruptedCIFAR10).model_fields}
    assert settings["epochs"] == 100 and settings["schedule"] == "cosine"
    assert set(settings) <= known | {"net", "task", "alpha", "bias_model"}
    if "flac" in method:
        assert settings["alpha"] == 100_000 and settings["task"] == "supcon"


def test_the_docstring_has_the_fixed_headings() -> None:
    for heading in ("Input:", "Class:", "Bias:", "Splits:", "Source:", "Licence:", "Deviations:"):
        assert heading in (CorruptedCIFAR10.__doc__ or "")
