"""The runs that a table needs, each once, a bias model before the runs that use it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fairflac.config import RunConfig


@dataclass(frozen=True)
class Job:
    """One run to make."""

    config: RunConfig

    @property
    def key(self) -> str:
        """The run's folder below that of all runs."""
        return self.config.folder

    @property
    def needs(self) -> str | None:
        """The key of the run that must be done before."""
        stage_one = self.config.stage_one()
        return stage_one.folder if stage_one else None


def jobs_for(configs: Iterable[RunConfig]) -> list[Job]:
    """All of these and their bias models, in an order in which they can be made."""
    found: dict[str, Job] = {}
    for config in configs:
        for stage in reversed([*_stages(config)]):
            found.setdefault(stage.folder, Job(stage))
    return list(found.values())


def _stages(config: RunConfig | None) -> Iterator[RunConfig]:
    """A run, its bias model, the bias model of that."""
    while config:
        yield config
        config = config.stage_one()
