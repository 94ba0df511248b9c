import numpy as np
import pytest

from auditing.toy_classifiers import rule
from fairflac.auditing.images import assumptions, in_order_of
from fairflac.data.base import BiasedDataset
from fairflac.errors import UserError
from fairflac.types import Attribute, TaskSpec


@pytest.fixture
def data() -> BiasedDataset:
    task = TaskSpec(("ant", "bee", "cow"), {"hue": Attribute(("red", "blue"), (0, 1, 1))}, (8, 8), (0,) * 3, (1,) * 3)
    images, y = np.zeros((4, 8, 8, 3), np.uint8), np.array([0, 1, 2, 1])
    return BiasedDataset(images, y, {"hue": np.array([0, 1, 1, 0])}, np.array(list("abcd")), "test", task)


def model_of(*classes: str):  # type: ignore[no-untyped-def]
    return rule(lambda images: np.zeros(len(images), int), classes=classes or None)


def test_by_name_in_the_order_of_the_model(data: BiasedDataset) -> None:
    ordered = in_order_of(model_of("cow", "ant", "bee"), data)
    assert ordered.task.classes == ("cow", "ant", "bee") and ordered.y.tolist() == [1, 2, 0, 2]
    assert ordered.task.attributes["hue"].aligned == (1, 0, 1)
    assert in_order_of(model_of("ant", "bee", "cow"), data) is data


def test_other_names_are_refused(data: BiasedDataset) -> None:
    with pytest.raises(UserError, match=r"knows the classes ant, bee, dog, and the images have ant, bee, cow"):
        in_order_of(model_of("ant", "bee", "dog"), data)


def test_by_number_where_the_model_has_no_names(data: BiasedDataset) -> None:
    with pytest.raises(UserError, match="tells 2 classes apart, and the images have 3"):
        in_order_of(model_of(), data)
    (note,) = assumptions(model_of(), data)
    assert "0 = ant, 1 = bee, 2 = cow" in note
    assert assumptions(model_of("ant", "bee", "cow"), data) == []
