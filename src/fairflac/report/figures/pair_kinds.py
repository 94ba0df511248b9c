"""What two images have in common, and how figures show it: the four kinds of pairs of the paper's Section 3.2."""

from typing import Literal, NamedTuple

import numpy as np
from matplotlib.patches import Patch

from fairflac.predictions import Predictions
from fairflac.report.figures.style import FAINT, INK, SAME_ATTRIBUTE, SAME_CLASS
from fairflac.report.shared import same_attribute

Stroke = Literal["-", "--", ":"]


class Kind(NamedTuple):
    """Colour and stroke both tell kinds apart."""

    label: str
    colour: str
    stroke: Stroke

    def patch(self) -> Patch:
        """For a legend."""
        return Patch(facecolor="none", edgecolor=self.colour, linestyle=self.stroke, linewidth=2)


NEITHER = Kind("other class, other attribute", FAINT, ":")  # A00
ATTRIBUTE = Kind("same attribute, other class", SAME_ATTRIBUTE, "--")  # A01
CLASS = Kind("same class, other attribute", SAME_CLASS, "-")  # A10
BOTH = Kind("same class, same attribute", INK, "-")  # A11
KINDS = (NEITHER, ATTRIBUTE, CLASS, BOTH)


def pair_kinds(table: Predictions) -> np.ndarray:
    """(N, N) places in KINDS."""
    kinds: np.ndarray = 2 * (table.y[:, None] == table.y) + same_attribute(table)
    return kinds
