"""Per class, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from fairflac.metrics.classes import class_accuracy, clearly_worse, confusion, majority
from prediction_table import make

Y = [0] * 40 + [1] * 20 + [2] * 40
SAID = [0] * 30 + [1] * 10 + [1] * 20 + [0] * 40


def test_confusion_and_accuracy_of_each_class() -> None:
    table = make(Y, Y, SAID, attributes=0)
    assert confusion(table).tolist() == [[30, 10, 0], [0, 20, 0], [40, 0, 0]]
    assert confusion(table, classes=4).shape == (4, 4)
    found = class_accuracy(table)
    assert [one.value for one in found.values()] == [0.75, 1.0, 0.0] and [one.n for one in found.values()] == [
        40,
        20,
        40,
    ]
    assert 0.8 < found[1].low < 1 == found[1].high
    assert list(class_accuracy(table.take(np.arange(40, 60)))) == [1]


def test_the_most_frequent_class_of_the_training_images() -> None:
    table = make(Y, Y, SAID, attributes=0)
    found = majority(table, [50, 10, 40])
    assert (found.label, found.accuracy.value) == (0, 0.4)
    assert found.right.value == 0.5 and not found.beaten  # 10 of 100 images more: may be chance
    assert majority(table, [10, 50, 40]).beaten
    assert not majority(make(Y, Y, [0] * 100, attributes=0), [50, 10, 40]).beaten


def test_classes_that_lost() -> None:
    before = make(Y, Y, Y, attributes=0)
    said = np.array(Y)
    said[:2], said[60:75] = 1, 0
    (lost,) = clearly_worse(before, replace(before, prediction=said))
    assert (lost.label, lost.before, lost.after) == (2, 1.0, pytest.approx(25 / 40)) and lost.difference.high < 0
    assert clearly_worse(replace(before, prediction=said), before) == []
