"""What the maps of all test images are told: every image with its class, group, answers and neighbours."""

from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairflac.metrics.representation import nearest
from fairflac.reporting.explorer import NOWHERE, Explorer, Grouping, explorer, grouping
from fairflac.reporting.naming import Names
from fairflac.reporting.pictures import ExampleImages, example_images
from fairflac.reporting.verdict import GuessedModels
from fairflac.runs.gallery import Gallery, Overview
from reporting.hand_made import gallery, photos, table
from reporting.test_pictures_sprite import decoded

NAMES = Names(["ant", "bee", "cow", "dog"], {"hue": ["red", "green", "blue", "grey"]})
TABLES = {"vanilla": table(1.0, 0.2), "flac": table(0.9, 0.7)}
FIRST = TABLES["vanilla"]


def unpacked(text: str, kind: str = "<u2") -> np.ndarray:
    return np.frombuffer(b64decode(text), dtype=kind)


def kept(folder: Path, overview: Overview | None = None) -> ExampleImages:
    paths = {}
    for name, predictions in TABLES.items():
        some = gallery(predictions)
        paths[name] = folder / f"{name}.npz"
        Gallery(some.index, some.images, some.names, overview).save(paths[name])
    made = example_images(TABLES, paths, NAMES)
    assert isinstance(made, ExampleImages)
    return made


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> ExampleImages:
    return kept(tmp_path_factory.mktemp("galleries"))


@pytest.fixture(scope="module")
def made(examples: ExampleImages) -> Explorer:
    return explorer(TABLES, NAMES, grouping(FIRST, NAMES, None), examples)


def test_every_test_image_is_a_point(made: Explorer) -> None:
    assert made.count == len(FIRST) == 320 and made.models == ["vanilla", "flac"]
    assert unpacked(made.data["y"]).tolist() == FIRST.y.tolist()
    assert unpacked(made.data["group"]).tolist() == FIRST.bias["hue"].tolist()
    assert unpacked(made.data["against"], "u1").astype(bool).tolist() == (~FIRST.aligned["hue"]).tolist()
    assert made.data["groups"] == made.groups == NAMES.values["hue"] and made.word == "hue"
    assert made.data["colours"] == ["#ff0000", "#008000", "#0000ff", "#808080"]  # their names are colours
    for model, predictions in zip(made.data["models"], TABLES.values(), strict=True):
        assert unpacked(model["said"]).tolist() == predictions.prediction.tolist()
        assert set(unpacked(model["sure"], "u1").tolist()) == {100}
        spots = [unpacked(model[axis]) for axis in "xy"]
        assert all(len(one) == 320 and one.min() == 0 and one.max() == 65535 for one in spots)


def test_images_that_models_take_for_alike_lie_close_together(made: Explorer) -> None:
    for model, wanted in zip(made.data["models"], (FIRST.bias["hue"], FIRST.y), strict=True):
        spots = np.stack([unpacked(model[axis]).astype(float) for axis in "xy"], axis=1)
        closest = nearest_on_the_plane(spots)
        assert (wanted[closest] == wanted).mean() > 0.75  # by chance 0.25


def nearest_on_the_plane(spots: np.ndarray) -> np.ndarray:
    far = ((spots[:, None] - spots) ** 2).sum(-1)
    np.fill_diagonal(far, np.inf)
    closest: np.ndarray = far.argmin(1)
    return closest


def test_neighbours_are_those_among_the_images_that_all_kept(made: Explorer, examples: ExampleImages) -> None:
    common = examples.rows[: examples.common]
    for model, predictions in zip(made.data["models"], TABLES.values(), strict=True):
        near = unpacked(model["near"]).reshape(320, model["count"])
        assert near[common].tolist() == nearest(predictions.features[common]).tolist()
        other = next(row for row in range(320) if row not in examples.rows)
        unit = predictions.features / np.linalg.norm(predictions.features, axis=1, keepdims=True)
        far = np.linalg.norm(unit[common] - unit[other], axis=1)
        assert near[other].tolist() == np.argsort(far, kind="stable")[:8].tolist()
    places = unpacked(made.data["place"])
    assert [places[row] for row in examples.rows] == list(range(len(examples.rows)))
    assert (places == NOWHERE).sum() == 320 - len(examples.rows)
    assert unpacked(made.data["point"]).tolist() == examples.rows.tolist()


def test_it_begins_with_the_surest_mistake(made: Explorer, examples: ExampleImages) -> None:
    worst = examples.mistakes["vanilla"][0]
    assert made.chosen == worst.thumbnail and made.answers["vanilla"] == worst.answers["vanilla"]
    assert made.data["start"] == examples.rows[worst.thumbnail.place]
    row = made.data["start"]
    found = made.neighbours["flac"]
    assert found.same_class == [thumbnail.y == FIRST.y[row] for thumbnail in found.thumbnails]
    assert found.groups == [thumbnail.value for thumbnail in found.thumbnails]


def test_an_overview_shows_images_that_were_not_kept(tmp_path: Path) -> None:
    whole = photos(np.arange(len(FIRST)))
    made = explorer(TABLES, NAMES, grouping(FIRST, NAMES, None), kept(tmp_path, Overview.of(whole.images)))
    assert made.overview is not None
    sheet, tiny = decoded(made.overview.uri), unpacked(made.data["tiny"])
    assert tiny.tolist() == list(range(320))
    line, column = divmod(int(tiny[250]), made.overview.columns)
    assert sheet[6 * line + 3, 8 * column + 4, :2].tolist() == pytest.approx([50, 1], abs=1)
    assert made.overview.ratio == pytest.approx(8 / 6)


def test_without_images_or_groups(made: Explorer) -> None:
    unlabelled = {name: predictions.without_labels() for name, predictions in TABLES.items()}
    first = unlabelled["vanilla"]
    assert grouping(first, NAMES, None) is None
    bare = explorer(unlabelled, NAMES, None, "There are no images to show.")
    assert bare.chosen is None and not bare.neighbours and not bare.groups and bare.count == made.count
    assert set(unpacked(bare.data["place"]).tolist()) == {NOWHERE} and bare.data["models"][0]["count"] == 0


def test_the_same_maps_every_time(made: Explorer, examples: ExampleImages) -> None:
    again = explorer(TABLES, NAMES, grouping(FIRST, NAMES, None), examples)
    assert again.data == made.data


def test_images_between_those_of_the_map_lie_beside_their_like() -> None:
    """More images than a t-SNE is made of: the others are placed between their nearest ones."""
    from fairflac.reporting.figures.feature_map import MOST_POINTS, places

    assert len(FIRST) > MOST_POINTS  # in tests
    spots = places(TABLES["flac"].features)
    assert spots.shape == (320, 2) and np.isfinite(spots).all()
    assert (FIRST.y[nearest_on_the_plane(spots)] == FIRST.y).mean() > 0.75  # by chance 0.25


def test_shares_of_the_nearest_are_said_of_each_model(made: Explorer) -> None:
    vanilla, flac = made.shares
    assert vanilla.startswith("vanilla class ") and "hue 100.0 %" in vanilla and "class 100.0 %" in flac


def guessed(*names: str) -> Grouping | None:
    table = replace(FIRST, bias={}, aligned={}, min_cell={}, guess=FIRST.bias["hue"], guess_counts=None)
    own = Names(NAMES.classes, {}, list(names))
    values = GuessedModels(FIRST.bias["hue"], own, FIRST.y != FIRST.bias["hue"], True, False, {}, {}, None)
    return grouping(table, NAMES, values)  # the first model of a page was trained without the groups


def test_a_guess_has_the_name_that_the_table_of_groups_gives_it() -> None:
    found = guessed("young", "old", "1", "2")
    assert found and found.names == ["young", "old", "1", "2"] and not found.note
    several = guessed("1+1", "1+2", "2+1", "2+2")
    assert several and several.names[1] == "1+2" and "as in “1+1”" in several.note
