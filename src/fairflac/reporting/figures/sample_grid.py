"""Training images as the model saw them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from fairflac.reporting.figures.style import GROUND, INK, bare
from fairflac.runs.gallery import Samples


def sample_grid(samples: Samples, names: Sequence[str]) -> Figure:
    """A row of images per class, beside its name; those whose attribute does not go with it stand in a black frame."""
    classes = np.unique(samples.y)
    most = max((int((samples.y == label).sum()) for label in classes), default=1)
    legend = 0.4 if samples.conflicting.any() else 0.0  # inches
    rows = [names[label] for label in classes]
    left = 0.2 + 0.08 * max(map(len, rows), default=0)  # inches, for the names
    figure = Figure(figsize=(left + 0.62 * most, 0.62 * len(classes) + legend), facecolor=GROUND, layout="constrained")
    axes = figure.add_subplot()
    for place, label in enumerate(classes):
        for column, sample in enumerate(np.flatnonzero(samples.y == label)):
            _image(axes, samples.images[sample], column, place, framed=bool(samples.conflicting[sample]))
    bare(axes)
    axes.set(xlim=(-0.06, most + 0.06), ylim=(len(classes) + 0.06, -0.06), aspect="equal")
    axes.set_yticks(np.arange(len(classes)) + 0.5, rows, color=INK, fontsize=9, parse_math=False)
    axes.tick_params(length=0)
    if legend:
        frame = Patch(facecolor="none", edgecolor=INK, linewidth=1.6, label="attribute does not go with the class")
        figure.legend(handles=[frame], loc="outside lower center", frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _image(axes: Axes, image: np.ndarray, column: int, place: int, *, framed: bool) -> None:
    edge = 0.12  # white between image and frame, so that a frame shows around an image of any colour
    axes.imshow(image, extent=(column + edge, column + 1 - edge, place + 1 - edge, place + edge))
    if framed:
        axes.add_patch(Rectangle((column + 0.06, place + 0.06), 0.88, 0.88, fill=False, edgecolor=INK, linewidth=1.6))
