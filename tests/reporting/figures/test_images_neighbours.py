"""Nearest neighbours against a slow search; galleries that differ; queries no model has chosen."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures.images import ATTRIBUTE, BOTH, CLASS, NEITHER, SharedGallery, nearest_neighbours
from fairflac.reporting.figures.style import QUERY, NothingToDraw
from fairflac.runs.directory import Run
from reporting.hand_made import MakeRun, photos, table

KEPT = np.arange(0, 320, 7)


@pytest.fixture
def models(make_run: MakeRun) -> dict[str, Run]:
    return {
        "vanilla": make_run("vanilla", table(1.0, 0.1), gallery=photos(KEPT)),
        "flac": make_run("flac", table(1.0, 0.9), gallery=photos(np.union1d(KEPT, [1, 2, 3]))),  # its own mistakes
    }


def drawn(figure: Figure) -> list[tuple[int, tuple[float, ...]]]:
    """Which image (its colour tells) stands in which frame, in the order of drawing."""
    axes = figure.axes[0]
    colours = [image.get_array()[0, 0] for image in axes.images]
    numbers = [int(colour[0]) + 200 * int(colour[1]) for colour in colours]
    return list(zip(numbers, [patch.get_edgecolor() for patch in axes.patches], strict=True))


def slowly(numbers: Predictions, query: int, count: int) -> list[int]:
    unit = [row / np.linalg.norm(row) for row in numbers.features.astype(float)]
    others = [int(i) for i in KEPT if i != query]
    return sorted(others, key=lambda i: float(np.linalg.norm(unit[i] - unit[query])))[:count]


def test_neighbours_are_the_nearest_and_framed_by_what_they_share(models: dict[str, Run]) -> None:
    cells = drawn(nearest_neighbours(models, queries=2, count=5).figure)
    assert len(cells) == 2 * 2 * 6
    for place in range(0, len(cells), 6):
        numbers = models[("vanilla", "flac")[place // 6 % 2]].predictions
        (query, frame), *others = cells[place : place + 6]
        assert frame == to_rgba(QUERY) and not numbers.aligned["hue"][query]
        assert [other for other, _ in others] == slowly(numbers, query, 5)
        for other, colour in others:
            same_class, same_hue = (
                numbers.y[other] == numbers.y[query],
                numbers.bias["hue"][other] == numbers.bias["hue"][query],
            )
            kind = {(1, 1): BOTH, (1, 0): CLASS, (0, 1): ATTRIBUTE, (0, 0): NEITHER}[int(same_class), int(same_hue)]
            assert colour == to_rgba(kind.colour)


def test_caption_counts_over_all_conflicting_images(models: dict[str, Run]) -> None:
    drawing = nearest_neighbours(models, count=4)
    queries = [int(i) for i in KEPT if not table(1, 1).aligned["hue"][i]]
    for name, run in models.items():
        numbers, shared = run.predictions, []
        for query in queries:
            shared += [numbers.y[other] == numbers.y[query] for other in slowly(numbers, query, 4)]
        assert f"{name} {100 * np.mean(shared):.1f} % (" in drawing.caption
    assert f"all {len(queries)} such images" in drawing.caption
    assert drawing.caption.count(f", n = {len(queries)}) of the same") == 2 * len(models)


def test_queries_are_conflicting_of_different_classes_and_the_same_whatever_the_models(models: dict[str, Run]) -> None:
    gallery = SharedGallery.of(models)
    chosen = gallery.minority(4)
    assert sorted(gallery.any_table.y[chosen]) == [0, 1, 2, 3]
    assert not gallery.any_table.aligned["hue"][chosen].any()
    np.testing.assert_array_equal(chosen, SharedGallery.of({"flac b": models["vanilla"]}).minority(4))


def test_only_images_that_are_the_same_are_shared(make_run: MakeRun, models: dict[str, Run]) -> None:
    painted = photos(KEPT)
    painted.images[::2] = 255
    both = SharedGallery.of({**models, "di": make_run("di", table(1, 1), gallery=painted)})
    assert both.any_table.index.tolist() == KEPT[1::2].tolist()
    assert (both.images[:, 0, 0, 0] == KEPT[1::2] % 200).all()
    painted.images[:] = 255
    with pytest.raises(NothingToDraw, match="different images"):
        SharedGallery.of({**models, "di": make_run("di", table(1, 1), gallery=painted)})


def test_not_drawn(make_run: MakeRun, models: dict[str, Run]) -> None:
    with pytest.raises(NothingToDraw, match="old kept no test images"):
        nearest_neighbours({**models, "old": make_run("di", table(1, 1))})
    with pytest.raises(NothingToDraw, match="no attribute"):
        nearest_neighbours({"flac": make_run("rubi", table(1, 1, attributes=()), gallery=photos(KEPT))})
    all_aligned = replace(table(1, 1), aligned={"hue": np.ones(320, dtype=bool)})
    with pytest.raises(NothingToDraw, match="does not go with its class"):
        nearest_neighbours({"flac": make_run("lff", all_aligned, gallery=photos(KEPT))})
