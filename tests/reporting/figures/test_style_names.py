"""Names as figures show them."""

from dataclasses import replace

import numpy as np
import pytest

from fairflac.reporting.figures.style import attribute_name, class_names, short, value_names
from reporting.hand_made import MakeRun, table


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cat", "cat"),
        ("a\n b\x00c", "a b c"),
        ("exactly 18 letters", "exactly 18 letters"),
        ("one more than eighteen", "one more than eig…"),
        (7, "7"),
    ],
)
def test_short(name: object, shown: str) -> None:
    assert short(name) == shown and len(shown) <= 18


def test_names_of_the_run_and_numbers_in_an_old_one(make_run: MakeRun) -> None:
    values = np.array([0, 2])
    named = make_run(
        "flac", table(1, 1), results={"classes": ["cat", "1", "dog"], "attributes": {"hair_hue": ["dark", "fair"]}}
    )
    assert class_names(named, values) == ["cat", "class 1", "dog"]
    assert value_names(named, "hair_hue", values) == ["dark", "fair", "hair hue 2"]
    old = make_run("vanilla", table(1, 1))
    assert class_names(old, values) == ["class 0", "class 1", "class 2"]
    assert value_names(old, "hue", values) == ["hue 0", "hue 1", "hue 2"]


def test_attributes_that_repeat_one_another_are_one() -> None:
    several = table(1, 1, attributes=("a_1", "a_2", "size"))
    assert attribute_name(replace(several, repeats={"a_1": "texture", "a_2": "texture"})) == "texture or size"
    assert attribute_name(table(1, 1, attributes=())) == "attribute"
