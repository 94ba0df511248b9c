"""The paper's figures: which of ours they are, and the runs they show."""

from fairflac.config import RunConfig
from fairflac.reproduce.grid import plan
from fairflac.reproduce.published import FIGURES, published
from fairflac.reproduce.scales import Scale


def figure_configs(name: str, scale: Scale) -> list[RunConfig]:
    """The runs that a figure shows, which are runs of its table."""
    figure = FIGURES[name]
    grid = plan(published(figure.table), scale, seeds=1)
    return [grid.rows[row][column].configs[0] for row in figure.rows for column in figure.columns]
