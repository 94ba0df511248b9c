"""Which test images a page shows, and whose neighbours they are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairflac.errors import UserError
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.naming import Names
from fairflac.reporting.pictures import MISTAKES, ExampleImages, example_images
from reporting.hand_made import gallery, table
from reporting.test_pictures_sprite import decoded

NAMES = Names(["ant", "bee", "cow", "dog"], {"hue": ["red", "green", "blue", "grey"]})
TABLES = {"vanilla": table(1.0, 0.2), "flac": table(0.9, 0.7)}


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, Path]:
    """Galleries with every twelfth image in common."""
    paths = {name: tmp_path / f"{name}.npz" for name in TABLES}
    for step, (name, path) in zip((4, 3), paths.items(), strict=True):
        gallery(TABLES[name], step).save(path)
    return paths


def shown(tables: dict[str, Predictions], kept: dict[str, Path]) -> ExampleImages:
    made = example_images(tables, kept, NAMES)
    assert isinstance(made, ExampleImages)
    return made


def row(name: str) -> int:
    return int(name.removeprefix("photo ").removesuffix(".png"))


def test_queries_are_the_images_that_all_models_kept(kept: dict[str, Path]) -> None:
    made = shown(TABLES, kept)
    assert [row(thumbnail.name) for thumbnail in made.thumbnails] == made.rows.tolist()
    common = made.thumbnails[: made.common]
    assert sorted(row(thumbnail.name) for thumbnail in common) == list(range(0, len(TABLES["flac"]), 12))
    groups = [(thumbnail.y, thumbnail.joint) for thumbnail in common]
    assert groups == sorted(groups)
    assert [(thumbnail.label, thumbnail.value) for thumbnail in made.thumbnails][::9] == [
        (NAMES.of_class(thumbnail.y), NAMES.of_value("hue", thumbnail.joint)) for thumbnail in made.thumbnails[::9]
    ]


def test_every_image_shows_itself(kept: dict[str, Path]) -> None:
    made = shown(TABLES, kept)
    sheet = decoded(made.sprite.uri)
    for thumbnail in [*made.thumbnails, *(mistake.thumbnail for found in made.mistakes.values() for mistake in found)]:
        line, column = divmod(thumbnail.place, made.sprite.columns)
        assert sheet[8 * line + 4, 8 * column + 4, 0] == pytest.approx(row(thumbnail.name) % 256, abs=1)


def test_mistakes_are_the_surest_and_are_mistakes(kept: dict[str, Path]) -> None:
    score = np.linspace(0.5, 1.0, len(TABLES["flac"]))
    tables = {name: replace(predictions, score=score) for name, predictions in TABLES.items()}
    made = shown(tables, kept)
    for (name, predictions), step in zip(tables.items(), (4, 3), strict=True):
        wrong = [i for i in range(0, len(score), step) if predictions.prediction[i] != predictions.y[i]]
        assert [row(mistake.thumbnail.name) for mistake in made.mistakes[name]] == wrong[::-1][:MISTAKES]
        assert made.wrong[name] == int((predictions.prediction != predictions.y).sum())
        for mistake in made.mistakes[name]:
            place, first = row(mistake.thumbnail.name), mistake.answers[name]
            assert next(iter(mistake.answers)) == name and first.score == score[place] and not first.right
            for model, one in mistake.answers.items():
                assert one.said == NAMES.of_class(tables[model].prediction[place])
                assert one.right == (one.said == mistake.thumbnail.label)


def test_reasons_for_nothing(kept: dict[str, Path], tmp_path: Path) -> None:
    lone = replace(gallery(TABLES["flac"]), index=np.array([1]), images=np.zeros((1, 8, 8, 3), np.uint8))
    lone = replace(lone, names=np.array(["one"]))
    lone.save(tmp_path / "lone.npz")
    assert "no test image in common" in str(example_images(TABLES, {**kept, "flac": tmp_path / "lone.npz"}, NAMES))
    assert "flac kept none" in str(example_images(TABLES, {**kept, "flac": tmp_path / "none.npz"}, NAMES))
    (tmp_path / "broken.npz").write_bytes(b"PK")
    with pytest.raises(UserError, match="damaged"):
        example_images(TABLES, {**kept, "flac": tmp_path / "broken.npz"}, NAMES)
