"""What a page shows: its figures, each with words for those who cannot see it, and its test images."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures import FIGURES
from fairflac.reporting.figures.images import sample_grid
from fairflac.reporting.figures.pairs import known_tables, similarity_distributions, similarity_figure
from fairflac.reporting.figures.style import Drawing, NothingToDraw, class_names, png, svg
from fairflac.reporting.naming import Names, combinations
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Gallery, Overview, Samples, sheet, webp


@dataclass(frozen=True)
class Picture:
    """An image inside the page; `narrow` is its arrangement for small screens."""

    title: str
    uri: str
    alt: str
    caption: str
    reading: str = ""  # how to read it
    open: bool = False  # it shows the point, and is not folded
    narrow: str | None = None
    wide: bool = False  # as wide as the page


NARROW = 7.0  # inches; figures up to here would have letters too large if they were as wide as the page
PNG_RESOLUTION = 110  # dots per inch, of figures as wide as the page


def pictures(models: Mapping[str, Run], shortcut: str | None) -> list[Picture]:
    """All figures about one dataset, in the order of the page; those that do not apply are left out."""
    found = [_samples(next(iter(models.values())), shortcut), _similarities(models, shortcut)]
    for figure in FIGURES:
        if figure.title:
            with suppress(NothingToDraw):
                found.append(_drawn(figure.title, figure.draw(models), figure.as_png))
    return [picture for picture in found if picture]


def _drawn(title: str, drawing: Drawing, as_png: bool) -> Picture:
    kind, content = ("png", _palette_png(drawing.figure)) if as_png else ("svg+xml", svg(drawing.figure))
    wide = drawing.figure.get_figwidth() > NARROW
    return Picture(title, data_uri(kind, content), drawing.alt, drawing.caption, wide=wide)


def _palette_png(figure: Figure) -> bytes:
    """With 256 colours, which figures do with, at a third of the size."""
    stream = BytesIO()
    with Image.open(BytesIO(png(figure, PNG_RESOLUTION))) as image:
        image.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT).save(stream, "png", optimize=True)
    return stream.getvalue()


def data_uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{b64encode(content).decode()}"


def _samples(run: Run, shortcut: str | None) -> Picture | None:
    if not run.samples.exists():
        return None
    samples = Samples.load(run.samples)
    alt = f"Rows of training images, one row for each of {len(set(samples.y.tolist()))} classes."
    caption = "A few training images of each class."
    if shortcut and samples.conflicting.any():
        alt += f" The {int(samples.conflicting.sum())} whose {shortcut} does not go with their class are framed."
        caption += (
            f" Framed: the {shortcut} does not go with the class. How many of these are shown says nothing about how "
            "many there are."
        )
    return Picture(
        "What the models saw",
        data_uri("png", png(sample_grid(samples, class_names(run, samples.y)))),
        alt,
        caption,
        open=True,
    )


def _similarities(models: Mapping[str, Run], shortcut: str | None) -> Picture | None:
    try:
        drawing = similarity_figure(models)
    except NothingToDraw:
        return None
    narrow = similarity_distributions(known_tables(models), columns=1)
    reading = (
        "Every model turns an image into a list of numbers, and two images are alike to the model when their numbers "
        f"are close. Red pairs share their class and not the {shortcut}; blue pairs share the {shortcut} and not their "
        "class. To a model that looks at the class, red pairs are the more alike ones: red lies to the right of blue. "
        f"To a model that looks at the {shortcut}, blue lies to the right."
    )
    wide, small = (data_uri("svg+xml", svg(figure)) for figure in (drawing.figure, narrow))
    return Picture(
        "What the models look at",
        wide,
        drawing.alt,
        drawing.caption,
        reading,
        open=True,
        narrow=small,
        wide=len(models) > 1,
    )


COLUMNS = 20


@dataclass(frozen=True)
class Sprite:
    """The image at place `k` is in column `k % columns` and line `k // columns`."""

    uri: str
    columns: int
    lines: int
    ratio: float  # width by height of one image


def sprite(images: np.ndarray) -> Sprite:
    """(M, H, W, 3) uint8."""
    count, height, width, _ = images.shape
    uri = data_uri("webp", webp(sheet(images, COLUMNS)))
    return Sprite(uri, COLUMNS, max(2, -(-count // COLUMNS)), width / height)


def overview_sprite(overview: Overview) -> Sprite:
    lines = max(2, -(-len(overview.index) // overview.columns))
    return Sprite(data_uri("webp", overview.sheet.tobytes()), overview.columns, lines, overview.ratio)


MISTAKES = 12  # shown of each model


@dataclass(frozen=True)
class Thumbnail:
    """One image, at its place in the sprite."""

    place: int
    label: str  # its class
    value: str  # of its attribute; empty when that is not known
    name: str  # where it comes from
    y: int
    joint: int  # the combination of its attribute values, as a number


@dataclass(frozen=True)
class ModelAnswer:
    """Of one model to one image."""

    said: str  # the class that it named
    score: float  # how sure it was
    right: bool


@dataclass(frozen=True)
class Mistake:
    thumbnail: Thumbnail
    answers: dict[str, ModelAnswer]  # of every model, the one whose mistake it is first


@dataclass(frozen=True)
class ExampleImages:
    sprite: Sprite
    thumbnails: list[Thumbnail]  # those that all models kept, sorted by class and attribute, then other mistakes
    rows: np.ndarray  # of the test images that these are
    common: int  # how many all models kept
    overview: Overview | None  # of all test images
    mistakes: dict[str, list[Mistake]]  # per model, the surest first
    wrong: dict[str, int]  # per model, how many mistakes there are


def example_images(
    tables: Mapping[str, Predictions], galleries: Mapping[str, Path], names: Names
) -> ExampleImages | str:
    """Of models that were tested on the same images; or in a sentence why there is nothing to see."""
    without = [name for name in tables if not galleries[name].exists()]
    if without:
        return f"There are no images to show: {', '.join(without)} kept none of its test images. Train it anew."
    kept = {name: Gallery.load(galleries[name], len(table)) for name, table in tables.items()}
    surest = {name: _surest(table, kept[name]) for name, table in tables.items()}
    table = next(iter(tables.values()))
    common = _sorted(_common(list(kept.values())), table)
    if len(common) < 2:
        return "There are no images to show: these models kept no test image in common."
    others = sorted({row for rows in surest.values() for row in rows} - set(common.tolist()))
    shown = [*common.tolist(), *others]
    images = {int(i): (g.images[k], str(g.names[k])) for g in kept.values() for k, i in enumerate(g.index)}
    joint = combinations(table)
    thumbnails = {
        row: Thumbnail(
            place,
            names.of_class(int(table.y[row])),
            names.of_values(table, row),
            images[row][1],
            int(table.y[row]),
            int(joint[row]),
        )
        for place, row in enumerate(shown)
    }
    return ExampleImages(
        sprite(np.stack([images[row][0] for row in shown])),
        list(thumbnails.values()),
        np.array(shown),
        len(common),
        next(iter(kept.values())).overview,
        {name: [_mistake(row, name, tables, thumbnails, names) for row in rows] for name, rows in surest.items()},
        {name: int((table.prediction != table.y).sum()) for name, table in tables.items()},
    )


def _common(galleries: list[Gallery]) -> np.ndarray:
    common = galleries[0].index
    for gallery in galleries[1:]:
        common = np.intersect1d(common, gallery.index)
    return common


def _sorted(rows: np.ndarray, table: Predictions) -> np.ndarray:
    """By class, then by attribute, so that an image of a kind is easy to find."""
    ordered: np.ndarray = rows[np.lexsort((combinations(table)[rows], table.y[rows]))]
    return ordered


def _surest(table: Predictions, gallery: Gallery) -> list[int]:
    """Rows of mistakes whose image was kept."""
    wrong = gallery.index[table.prediction[gallery.index] != table.y[gallery.index]]
    surest: list[int] = wrong[np.argsort(-table.score[wrong], kind="stable")][:MISTAKES].tolist()
    return surest


def _mistake(
    row: int, model: str, tables: Mapping[str, Predictions], thumbnails: dict[int, Thumbnail], names: Names
) -> Mistake:
    order = [model, *(other for other in tables if other != model)]
    return Mistake(thumbnails[row], {name: answer(tables[name], row, names) for name in order})


def answer(table: Predictions, row: int, names: Names) -> ModelAnswer:
    said = int(table.prediction[row])
    return ModelAnswer(names.of_class(said), float(table.score[row]), said == int(table.y[row]))
