"""What a figure function returns, and what it raises when there is nothing to draw."""

from typing import NamedTuple

from matplotlib.figure import Figure

from fairflac.errors import UserError


class Drawing(NamedTuple):
    """A figure with its words."""

    figure: Figure
    alt: str  # what is to be seen, for those who cannot see it
    caption: str  # how to read it, with its key numbers


class NothingToDraw(UserError):
    """A figure does not apply to these runs; the message says what is missing."""
