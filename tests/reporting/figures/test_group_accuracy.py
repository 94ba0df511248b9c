"""The map of group accuracies against a loop over images."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes

from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures.group_accuracy import group_accuracies
from fairflac.reporting.figures.style import NothingToDraw, png
from reporting.hand_made import CLASSES, MakeRun, table


def uneven() -> Predictions:
    """Groups of 0, 2 and 20 images."""
    whole = table(0.9, 0.3)
    hue, number = whole.bias["hue"], whole.index % 20
    keep = ~((whole.y == 1) & (hue == 3)) & ((whole.y != 2) | (number < 2))
    return whole.take(keep)


def texts(axes: Axes) -> dict[tuple[int, int], str]:
    return {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in axes.texts}


def test_numbers_are_those_of_a_loop(make_run: MakeRun) -> None:
    numbers = uneven()
    axes = group_accuracies({"vanilla": make_run("vanilla", numbers)}).figure.axes[0]
    expected = {}
    for row in range(CLASSES):
        for column in range(CLASSES):
            members = [i for i in range(len(numbers)) if (numbers.y[i], numbers.bias["hue"][i]) == (row, column)]
            if members:
                right = sum(bool(numbers.prediction[i] == numbers.y[i]) for i in members)
                mark = "*" if len(members) < 30 else ""
                expected[row, column] = f"{100 * right / len(members):.0f} %{mark}\nn = {len(members)}"
    assert len(expected) == CLASSES**2 - 1  # one group is empty and stays grey
    assert texts(axes) == expected
    image = np.ma.filled(axes.images[0].get_array(), np.nan)
    assert np.isnan(image[1, 3]) and image[0, 0] == pytest.approx(0.9)


def test_only_small_groups_are_marked(make_run: MakeRun) -> None:
    twice = table(1.0, 0.5).take(np.repeat(np.arange(320), 2))  # groups of 40
    drawing = group_accuracies({"flac": make_run("flac", twice)})
    assert not any("*" in text for text in texts(drawing.figure.axes[0]).values())
    assert "fewer" not in drawing.caption and not drawing.figure.get_supxlabel()


def test_names_and_the_lowest_group(make_run: MakeRun) -> None:
    numbers = table(1.0, 0.5)
    prediction = np.where((numbers.y == 2) & (numbers.bias["hue"] == 1), 0, numbers.prediction)
    run = make_run(
        "flac",
        replace(numbers, prediction=prediction),
        results={"classes": ["$a$", "b", "c", "d"], "attributes": {"hue": ["red", "_blue", "x", "y"]}},
    )
    drawing = group_accuracies({"flac": run})
    axes = drawing.figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["$a$", "b", "c", "d"]
    assert not axes.get_yticklabels()[0].get_parse_math()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["red", "_blue", "x", "y"]
    assert "flac 0.0 % (0.0–16.8, n = 20), c with _blue" in drawing.caption


def test_a_lowest_accuracy_of_many_groups_is_counted(make_run: MakeRun) -> None:
    assert (
        "vanilla 0.0 % (0.0–16.8, n = 20) in 12 of 16 groups"
        in group_accuracies({"vanilla": make_run("vanilla", table(1, 0))}).caption
    )


def test_a_panel_for_each_model_and_attribute(make_run: MakeRun) -> None:
    numbers = table(1.0, 0.5, attributes=("hue", "the_size"))
    titles = [axes.get_title() for axes in group_accuracies({"flac": make_run("flac", numbers)}).figure.axes[:2]]
    assert titles == ["flac, hue", "flac, the size"]


def test_a_hundred_classes_still_fit(make_run: MakeRun) -> None:
    n = 500
    y, value = np.arange(n) % 100, np.arange(n) % 2
    numbers = Predictions(np.arange(n), y, y, np.ones(n), np.ones((n, 2)), {"hue": value}, {"hue": value == y % 2})
    drawing = group_accuracies({"flac": make_run("flac", numbers)})
    width, height = drawing.figure.get_size_inches()
    assert width < 12 and height < 12
    axes = drawing.figure.axes[0]
    assert not axes.texts and len(axes.get_yticks()) == 25
    assert png(drawing.figure)


def test_an_attribute_is_needed(make_run: MakeRun) -> None:
    with pytest.raises(NothingToDraw, match="no attribute"):
        group_accuracies({"flac": make_run("flac", table(1, 1, attributes=()))})
