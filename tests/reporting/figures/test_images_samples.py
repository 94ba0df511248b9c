"""The grid of training images: which of them stand in a frame."""

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from fairflac.reporting.figures.images import sample_grid
from reporting.hand_made import CLASSES, pictures

NAMES = ["ant", "bee", "cow $2$", "class 3"]


def frames(figure: Figure) -> int:
    return len(figure.axes[0].patches)


def test_grid_frames_the_conflicting_images() -> None:
    samples = pictures()
    figure = sample_grid(samples, NAMES)
    axes = figure.axes[0]
    assert len(axes.images) == len(samples.y)
    assert frames(figure) == samples.conflicting.sum() == len(figure.legends) * CLASSES
    assert [label.get_text() for label in axes.get_yticklabels()] == NAMES


def test_grid_without_conflicts_has_no_frame_and_no_legend() -> None:
    samples = pictures()
    figure = sample_grid(replace(samples, conflicting=np.zeros(len(samples.y), dtype=bool)), NAMES)
    assert frames(figure) == 0 and not figure.legends
