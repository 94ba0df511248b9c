"""A small image somewhere in a panel."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

GAP = 0.09  # of the side, white between image and frame, so that a frame shows around an image of any colour


def thumbnail(
    axes: Axes,
    image: np.ndarray,  # (H, W, 3)
    centre: tuple[float, float],
    side: float,  # of the square it fits in, in units of the axes
    colour: str,
    stroke: str = "-",
    layer: float = 1,  # higher ones cover lower ones
) -> None:
    """The image keeps its shape; the frame has a white ground."""
    x, y = centre
    height, width = image.shape[:2]
    right, up = (side / 2 - GAP * side) * np.array([width, height]) / max(width, height)
    corner = (x - side / 2, y - side / 2)
    axes.add_patch(
        Rectangle(corner, side, side, facecolor="white", edgecolor=colour, linestyle=stroke, lw=1.7, zorder=layer)
    )
    axes.imshow(image, extent=(x - right, x + right, y - up, y + up), zorder=layer + 0.1)
