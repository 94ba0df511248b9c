"""Progress of many runs as one bar."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fairflac.progress import Meter, meter
from fairflac.reproduce.estimate import image_passes
from fairflac.reproduce.jobs import Job

UNIT = 1000  # image passes in a step of the bar


class Overall:
    """Tells a meter what an executor tells; a run counts by the images that it sees."""

    def __init__(self, shown: Meter, jobs: Sequence[Job]) -> None:
        self.meter, self.runs = shown, len(jobs)
        self.sizes = sizes(jobs)
        self.seen = dict.fromkeys(self.sizes, 0)
        self.ended = 0

    def started(self, job: Job) -> None:
        self._note()

    def progress(self, job: Job, share: float) -> None:
        steps = round(share * self.sizes[job.key]) - self.seen[job.key]
        self.seen[job.key] += steps
        self.meter.advance(steps)

    def finished(self, job: Job) -> None:
        self.ended += 1
        self._note()
        self.progress(job, 1.0)

    def failed(self, job: Job, reason: str) -> None:
        self.meter.say(f"{job.key}: {reason}")
        self.finished(job)

    def _note(self) -> None:
        self.meter.note(f"{self.ended}/{self.runs} runs")


def sizes(jobs: Sequence[Job]) -> dict[str, int]:
    return {job.key: max(1, round(image_passes(job.config) / UNIT)) for job in jobs}


@contextmanager
def overall(label: str, jobs: Sequence[Job], *, silent: bool = False) -> Iterator[Overall]:
    """A bar over all of these jobs."""
    with meter(label, sum(sizes(jobs).values()), silent=silent) as shown:
        yield Overall(shown, jobs)
