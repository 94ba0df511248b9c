"""The paper's figures: which of ours they are, and the runs they show."""

from fairflac.config.run_config import RunConfig
from fairflac.reproduction.paper.published import FIGURES, published
from fairflac.reproduction.paper.scales import Scale
from fairflac.reproduction.plan import plan


def figure_configs(name: str, scale: Scale) -> list[RunConfig]:
    """The runs that a figure shows, which are runs of its table."""
    figure = FIGURES[name]
    grid = plan(published(figure.table), scale, seeds=1)
    return [grid.rows[row][column].configs[0] for row in figure.rows for column in figure.columns]
