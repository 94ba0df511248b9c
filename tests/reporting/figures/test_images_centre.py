"""Distances from the centre: images stand as far out as they are, on the side of their kind."""

import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes

from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures.images import HOLE, distances_from_centre
from fairflac.reporting.figures.style import NothingToDraw
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, photos, table

KEPT = np.arange(0, 320, 3)


@pytest.fixture
def models(make_run: MakeRun) -> dict[str, Run]:
    return {
        name: make_run(name, table(1.0, share), gallery=photos(KEPT))
        for name, share in (("vanilla", 0.1), ("flac", 0.9))
    }


def places(axes: Axes) -> dict[int, tuple[float, float]]:
    found = {}
    for image in axes.images:
        left, right, bottom, top = image.get_extent()
        colour = image.get_array()[0, 0]
        found[int(colour[0]) + 200 * int(colour[1])] = ((left + right) / 2, (bottom + top) / 2)
    return found


def far(numbers: Predictions, i: int, j: int) -> float:
    a, b = numbers.features[[i, j]].astype(float)
    return float(np.linalg.norm(a / np.linalg.norm(a) - b / np.linalg.norm(b)))


def test_radius_is_distance_and_side_is_kind(models: dict[str, Run]) -> None:
    figure = distances_from_centre(models).figure
    numbers = models["vanilla"].predictions
    scales = []
    for axes, run in zip(figure.axes, models.values(), strict=True):
        table_of_run, standing = run.predictions, places(axes)
        (centre,) = [number for number, (x, y) in standing.items() if abs(x) + abs(y) < 1e-9]
        assert not numbers.aligned["hue"][centre]
        for other, (x, y) in standing.items():
            if other == centre:
                continue
            same_class, same_hue = (column[other] == column[centre] for column in (numbers.y, numbers.bias["hue"]))
            assert (same_class, same_hue) == ((True, False) if x > 0 else (False, True))
            scales.append((np.hypot(x, y) - HOLE) / far(table_of_run, centre, other))
    assert len(scales) == 2 * 14
    np.testing.assert_allclose(scales, scales[0])  # one scale for both models


def test_caption_has_the_medians(models: dict[str, Run]) -> None:
    drawing = distances_from_centre(models)
    (centre,) = [i for i, (x, y) in places(drawing.figure.axes[0]).items() if abs(x) + abs(y) < 1e-9]
    for name, run in models.items():
        numbers = run.predictions
        red = [
            far(numbers, centre, i)
            for i in KEPT
            if numbers.y[i] == numbers.y[centre] and numbers.bias["hue"][i] != numbers.bias["hue"][centre]
        ]
        blue = [
            far(numbers, centre, i)
            for i in KEPT
            if numbers.y[i] != numbers.y[centre] and numbers.bias["hue"][i] == numbers.bias["hue"][centre]
        ]
        shown = re.search(
            rf"{name} (\S+) \((\S+)–(\S+), n = {len(red)}\) and (\S+) \(.*?, n = {len(blue)}\)", drawing.caption
        )
        assert shown is not None and (shown[1], shown[4]) == (f"{np.median(red):.2f}", f"{np.median(blue):.2f}")
        assert float(shown[2]) <= float(shown[1]) <= float(shown[3])


def test_a_centre_needs_both_kinds_of_others(make_run: MakeRun) -> None:
    one_hue = replace(table(1, 1), bias={"hue": np.zeros(320, dtype=int)})
    with pytest.raises(NothingToDraw, match="both"):
        distances_from_centre({"flac": make_run("flac", one_hue, gallery=photos(KEPT))})
