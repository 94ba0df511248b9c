"""The figures of a page: what each shows, in words for those who cannot see it, and how to read it."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from fairflac.reporting.figures import png, svg
from fairflac.reporting.figures.images import sample_grid
from fairflac.reporting.figures.pairs import known_tables, similarity_distributions, similarity_figure
from fairflac.reporting.figures.registry import FIGURES
from fairflac.reporting.figures.style import Drawing, NothingToDraw, class_names
from fairflac.runs.directory import Run
from fairflac.runs.gallery import Samples


@dataclass(frozen=True)
class Picture:
    """An image inside the page; `narrow` is its arrangement for small screens."""

    title: str
    uri: str
    alt: str
    caption: str
    reading: str = ""  # how to read it
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
        "What the models saw", data_uri("png", png(sample_grid(samples, class_names(run, samples.y)))), alt, caption
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
    return Picture("What the models look at", wide, drawing.alt, drawing.caption, reading, small, wide=True)


COLUMNS = 20
QUALITY = 80  # of WebP, for photographs


@dataclass(frozen=True)
class Sprite:
    """The image at place `k` is in column `k % columns` and line `k // columns`."""

    uri: str
    columns: int
    lines: int
    ratio: float  # width by height of one image


def sprite(images: np.ndarray) -> Sprite:
    """(M, H, W, 3) uint8. Drawings are smaller without loss and photographs with it: the smaller file is taken."""
    count, height, width, _ = images.shape
    lines = max(2, -(-count // COLUMNS))  # two at least: positions are shares of the way to the last
    sheet = np.zeros((lines * COLUMNS, height, width, 3), dtype=np.uint8)
    sheet[:count] = images
    grid = sheet.reshape(lines, COLUMNS, height, width, 3).swapaxes(1, 2).reshape(lines * height, COLUMNS * width, 3)
    return Sprite(data_uri("webp", _smallest(Image.fromarray(grid))), COLUMNS, lines, width / height)


def _smallest(image: Image.Image) -> bytes:
    files = []
    for lossless in (True, False):
        stream = BytesIO()
        image.save(stream, "WEBP", lossless=lossless, quality=QUALITY)
        files.append(stream.getvalue())
    return min(files, key=len)
