"""Maps of features: every image once, always in the same place, near what is near."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba

from fairflac.metrics.representation import distances
from fairflac.reporting.figures.feature_map import ENOUGH, feature_maps, flat
from fairflac.reporting.figures.style import NothingToDraw
from reporting.hand_made import MakeRun, table


def blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    label = np.arange(n) % 3
    return label, 5 * np.eye(6)[label] + 0.3 * rng.normal(size=(n, 6))


@pytest.mark.full_size
@pytest.mark.parametrize("n", [ENOUGH - 20, ENOUGH + 40])
def test_near_stays_near_and_repeats(n: int) -> None:
    label, features = blobs(n)
    places = flat(features)
    assert places.shape == (n, 2)
    far = ((places[:, None] - places) ** 2).sum(axis=2) + np.diag(np.full(n, np.inf))
    assert (label[far.argmin(axis=1)] == label).all()
    np.testing.assert_array_equal(places, flat(features))


def test_few_points_lie_in_the_principal_plane() -> None:
    _, features = blobs(20)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    centred = unit - unit.mean(axis=0)
    vectors = np.linalg.eigh(centred.T @ centred)[1]
    for column, vector in zip(flat(features).T, vectors[:, ::-1].T[:2], strict=True):
        expected = centred @ vector
        np.testing.assert_allclose(column, expected * np.sign(expected @ column), atol=1e-9)


@pytest.mark.parametrize("features", [np.zeros((200, 4)), np.ones((200, 1)), np.repeat(np.eye(3), 70, axis=0)])
def test_collapsed_features_are_no_error(features: np.ndarray) -> None:
    assert np.isfinite(flat(features)).all()


def test_points_colours_and_caption(make_run: MakeRun) -> None:
    numbers = table(1.0, 0.3).take(np.arange(0, 320, 10))
    names = {"classes": ["_a", "$b$", "c", "d"], "attributes": {"hue": ["red", "green", "blue", "black"]}}
    drawing = feature_maps({"vanilla": make_run("vanilla", numbers, results=names)})
    by_class, by_hue = drawing.figure.axes
    assert (by_class.get_title(), by_hue.get_title()) == ("vanilla: class", "vanilla: hue")
    places = flat(numbers.features)
    for axes, column in ((by_class, numbers.y), (by_hue, numbers.bias["hue"])):
        clouds = [cloud for cloud in axes.collections if isinstance(cloud, PathCollection)]
        for value, cloud in enumerate(clouds):
            np.testing.assert_allclose(cloud.get_offsets(), places[column == value])
        assert len(clouds) == 4
    assert [text.get_text() for text in by_class.get_legend().get_texts()] == ["_a", "$b$", "c", "d"]
    colours = [tuple(cloud.get_facecolor()[0][:3]) for cloud in by_hue.collections]  # type: ignore[index]
    assert colours == [to_rgba(name)[:3] for name in ("red", "green", "blue", "black")]
    far = distances(numbers.features) + np.diag(np.full(len(numbers), np.inf))
    nearest = [min(range(len(numbers)), key=lambda j: far[i, j]) for i in range(len(numbers))]
    share = np.mean([numbers.y[i] == numbers.y[j] for i, j in enumerate(nearest)])
    assert (
        f"vanilla class {100 * share:.1f} % (" in drawing.caption and f", n = {len(numbers)}), hue" in drawing.caption
    )


def test_many_values_are_others(make_run: MakeRun) -> None:
    numbers = table(1.0, 0.3).take(np.arange(0, 320, 8))
    many = replace(numbers, y=np.arange(40) // 2, bias={}, aligned={})
    (axes,) = feature_maps({"flac": make_run("flac", many)}).figure.axes
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == [*(f"class {number}" for number in range(10)), "10 others"]


def test_three_points_are_needed(make_run: MakeRun) -> None:
    with pytest.raises(NothingToDraw, match="fewer than three"):
        feature_maps({"flac": make_run("flac", table(1, 1).take(np.arange(2)))})
