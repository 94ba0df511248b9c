"""The table of groups: every model in its column, every group in its line."""

import pytest

from fairflac.metrics import group_table
from fairflac.reporting.naming import Names
from fairflac.reporting.results import group_tables
from reporting.hand_made import CLASSES, PER_GROUP, table

NAMES = Names(["ant", "bee", "cow", "dog"], {"hue": ["red", "green", "blue", "grey"]})


def test_lines_and_columns() -> None:
    tables = {"vanilla": table(1.0, 0.2), "flac": table(0.9, 0.7)}
    (made,) = group_tables(tables, NAMES)
    assert made.models == ["vanilla", "flac"] and len(made.groups) == CLASSES**2
    second = made.groups[1]
    assert (second.label, second.value, second.aligned, second.n) == ("ant", "green", False, PER_GROUP)
    assert second.accuracy["vanilla"].value == pytest.approx(0.2)
    assert second.accuracy["flac"].value == pytest.approx(0.7)
    for model, predictions in tables.items():
        for group, line in zip(made.groups, [row._asdict() for row in group_table(predictions, "hue")], strict=True):
            assert group.accuracy[model] == (line["accuracy"], line["low"], line["high"], line["n"])
            assert group.calibration[model].value == line["calibration_error"]


def test_small_groups_are_flagged() -> None:
    (made,) = group_tables({"vanilla": table(1.0, 0.2)}, NAMES)
    assert made.small == len(made.groups)  # of 20 images each


def test_one_table_per_attribute_and_none_without() -> None:
    several = {"vanilla": table(1.0, 0.2, attributes=("hue", "skin_tone"))}
    assert [made.attribute for made in group_tables(several, NAMES)] == ["hue", "skin tone"]
    assert group_tables({"vanilla": table(1.0, 0.2, attributes=())}, NAMES) == []
