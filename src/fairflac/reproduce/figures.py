"""The paper's figures: which of ours they are, and the runs they show."""

from typing import NamedTuple

from fairflac.config import RunConfig
from fairflac.reproduce.grid import plan
from fairflac.reproduce.published import published
from fairflac.reproduce.scales import Scale


class PaperFigure(NamedTuple):
    """A figure by the cells of a table whose runs it shows, of one seed each."""

    title: str
    drawing: str  # in our catalogue
    table: str
    rows: tuple[str, ...]
    columns: tuple[int, ...]


FIGURES = {
    "figure1": PaperFigure(
        "Distances from one central sample", "distances-from-centre", "table2", ("Vanilla (CE)", "FLAC (CE)"), (0,)
    ),
    "figure3": PaperFigure(
        "Similarities over S at the weakest and the strongest bias",
        "similarities",
        "table2",
        ("Vanilla (CE)", "FLAC (CE)"),
        (0, 3),
    ),
    "figure4": PaperFigure(
        "Nearest neighbours of a minority query", "nearest-neighbours", "table4", ("Vanilla (CE)", "FLAC (CE)"), (0,)
    ),
    "figure5": PaperFigure("Pairs in S per batch", "pairs-per-batch", "table2", ("FLAC (CE)",), (0, 1, 2, 3)),
}


def figure_configs(name: str, scale: Scale) -> list[RunConfig]:
    """The runs that a figure shows, which are runs of its table."""
    figure = FIGURES[name]
    grid = plan(published(figure.table), scale, seeds=1)
    return [grid.rows[row][column].configs[0] for row in figure.rows for column in figure.columns]
