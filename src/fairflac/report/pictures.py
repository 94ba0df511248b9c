"""The figures of a page: what each shows, in words for those who cannot see it, and how to read it."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO

from matplotlib.figure import Figure
from PIL import Image

from fairflac.report.figures import png, sample_grid, svg
from fairflac.report.figures.centre import distances_from_centre
from fairflac.report.figures.curves import training_curves
from fairflac.report.figures.drawing import Drawing, NothingToDraw
from fairflac.report.figures.feature_map import feature_maps
from fairflac.report.figures.group_accuracy import group_accuracies
from fairflac.report.figures.names import class_names
from fairflac.report.figures.pairs_per_batch import pairs_per_batch
from fairflac.report.figures.similarity import known_tables, similarities, similarity_distributions
from fairflac.runs import Run
from fairflac.samples import Samples


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


# Title, what draws it, and whether it is a PNG: thousands of marks are smaller so.
DRAWINGS: tuple[tuple[str, Callable[[Mapping[str, Run]], Drawing], bool], ...] = (
    ("How every group fares", group_accuracies, True),
    ("What is near to one image", distances_from_centre, False),
    ("All test images at a glance", feature_maps, True),
    ("How training went", training_curves, False),
    ("How many pairs FLAC learns from", lambda models: pairs_per_batch(list(models.values())), False),
)
NARROW = 7.0  # inches; figures up to here would have letters too large if they were as wide as the page
PNG_RESOLUTION = 110  # dots per inch, of figures as wide as the page


def pictures(models: Mapping[str, Run], shortcut: str | None) -> list[Picture]:
    """All figures about one dataset, in the order of the page; those that do not apply are left out."""
    found = [_samples(next(iter(models.values())), shortcut), _similarities(models, shortcut)]
    for title, draw, as_png in DRAWINGS:
        with suppress(NothingToDraw):
            found.append(_drawn(title, draw(models), as_png))
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
        drawing = similarities(models)
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
