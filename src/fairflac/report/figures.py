"""Figures, drawn without pyplot: no window, no global state. Each has its own light ground, for any page theme."""

from collections.abc import Mapping
from io import BytesIO

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from fairflac.predictions import Predictions
from fairflac.report.similarity import PairSimilarities, pair_similarities
from fairflac.samples import Samples

GROUND, INK = "#ffffff", "#1f2328"
SAME_CLASS, SAME_ATTRIBUTE = "#c8281e", "#1f5fbf"  # red and blue, as in the paper
BINS: list[float] = np.linspace(1 / 3, 1, 61).tolist()  # unit vectors are at most 2 apart


def sample_grid(samples: Samples) -> Figure:
    """A row of images per class; those whose attribute does not go with the class stand in a black frame."""
    classes = np.unique(samples.y)
    most = max((int((samples.y == label).sum()) for label in classes), default=1)
    legend = 0.4 if samples.conflicting.any() else 0.0  # inches
    figure = Figure(figsize=(0.8 + 0.62 * most, 0.62 * len(classes) + legend), facecolor=GROUND, layout="constrained")
    axes = figure.add_subplot()
    for place, label in enumerate(classes):
        for column, sample in enumerate(np.flatnonzero(samples.y == label)):
            _image(axes, samples.images[sample], column, place, framed=bool(samples.conflicting[sample]))
    axes.set(xlim=(-0.06, most + 0.06), ylim=(len(classes) + 0.06, -0.06), aspect="equal", xticks=[])
    axes.set_yticks(np.arange(len(classes)) + 0.5, [f"class {label}" for label in classes], color=INK, fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if legend:
        frame = Patch(facecolor="none", edgecolor=INK, linewidth=1.6, label="attribute does not go with the class")
        figure.legend(handles=[frame], loc="outside lower center", frameon=False, fontsize=9, labelcolor=INK)
    return figure


def similarity_distributions(named: Mapping[str, Predictions], columns: int = 3) -> Figure:
    """Per model, how alike pairs of test images are: red, only the class is shared; blue, only the attribute.

    In a model that ignores the attribute, red is to the right of blue (paper, Fig. 3).
    """
    columns = max(1, min(columns, len(named)))
    lines = -(-len(named) // columns)
    figure = Figure(figsize=(3.4 * columns, 2.7 * lines + 0.5), facecolor=GROUND, layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, (name, table) in zip(panels, named.items(), strict=False):
        _panel(panel, name, pair_similarities(table))
    for empty in panels[len(named) :]:
        empty.set_visible(False)
    handles = [
        Patch(color=SAME_CLASS, alpha=0.6, label="same class, other attribute"),
        Patch(color=SAME_ATTRIBUTE, alpha=0.6, label="same attribute, other class"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(2, columns), frameon=False, labelcolor=INK)
    figure.supxlabel("similarity of two test images", fontsize=10, color=INK)
    figure.supylabel("density of pairs", fontsize=10, color=INK)
    return figure


def png(figure: Figure) -> bytes:
    """Sharp on a screen with two pixels to the point; the same figure gives the same bytes."""
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=200, metadata={"Software": None})
    return stream.getvalue()


def svg(figure: Figure) -> bytes:
    stream = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "fairflac"}):  # without it, ids inside the file are random
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def _image(axes: Axes, image: np.ndarray, column: int, place: int, *, framed: bool) -> None:
    edge = 0.12  # white between image and frame, so that a frame shows around an image of any colour
    axes.imshow(image, extent=(column + edge, column + 1 - edge, place + 1 - edge, place + edge))
    if framed:
        axes.add_patch(Rectangle((column + 0.06, place + 0.06), 0.88, 0.88, fill=False, edgecolor=INK, linewidth=1.6))


def _panel(panel: Axes, name: str, pairs: PairSimilarities) -> None:
    for values, colour in ((pairs.same_attribute, SAME_ATTRIBUTE), (pairs.same_class, SAME_CLASS)):
        if len(values):
            panel.hist(values, BINS, density=True, histtype="stepfilled", facecolor=colour, alpha=0.45)
            panel.hist(values, BINS, density=True, histtype="step", edgecolor=colour, linewidth=1.2)
    panel.set_title(name, fontsize=11, color=INK, fontweight="bold", parse_math=False)  # a name may hold a $
    panel.set(facecolor=GROUND, xticks=[0.4, 0.6, 0.8, 1.0])
    panel.tick_params(colors=INK, labelsize=9)
    panel.spines[["top", "right"]].set_visible(False)
