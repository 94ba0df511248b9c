"""Names of classes and values, and what stands in for them."""

from dataclasses import replace

import numpy as np

from fairflac.reporting.naming import Names, combinations
from reporting.hand_made import table

RESULT = {"classes": ["cat", "dog"], "attributes": {"hue": ["red", "blue"]}}


def test_known_names() -> None:
    names = Names.of(RESULT)
    assert (names.of_class(1), names.of_value("hue", 0)) == ("dog", "red")


def test_numbers_stand_in_for_names_that_were_not_kept() -> None:
    for result in ({}, {"classes": [], "attributes": None}):
        names = Names.of(result)
        assert (names.of_class(1), names.of_value("hue", 0)) == ("1", "0")
    assert Names.of(RESULT).of_class(7) == "7"


def test_values_of_an_image() -> None:
    several = table(1.0, 1.0, attributes=("hue", "tone"))
    names = Names(["a", "b", "c", "d"], {"hue": ["red", "green", "blue", "grey"], "tone": ["light", "dark"]})
    assert names.of_values(several, 0) == "red, light"
    assert names.of_values(table(1.0, 1.0, attributes=()), 0) == ""
    assert Names([], {}).of_values(several, 0) == "0"  # the same word twice says nothing


def test_combinations_tell_images_apart_that_differ_in_one_attribute() -> None:
    one = table(1.0, 1.0)
    assert (combinations(one) == one.bias["hue"]).all()
    two = replace(one, bias={"hue": one.bias["hue"], "side": one.index % 2})
    pairs = {(int(h), int(s), int(c)) for h, s, c in zip(*two.bias.values(), combinations(two), strict=True)}
    assert len(pairs) == len({c for *_, c in pairs}) == 8
    assert (combinations(table(1.0, 1.0, attributes=())) == np.zeros(len(one))).all()
