"""Schedules the runs of a table: the contract of executors, and all that they have in common.

An executor only knows how to start a worker on one run. Which run is next, what a failure means for the runs that need
it, trying again and stopping are here.
"""

import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from fairflac.config import plugins
from fairflac.config.run_config import RunConfig
from fairflac.errors import RunInUse, Stopped, UserError, describe_os_error
from fairflac.reproduction.plan import Job, image_passes
from fairflac.runs.directory import Run, Workspace, share_trained
from fairflac.system.progress import Meter, meter, stop_requests
from fairflac.training.pipeline import train_config

TICK_SECONDS = 0.25  # between two looks at the workers


@dataclass(frozen=True)
class JobResult:
    """How the work on a run ended. What is `lost` may succeed when it is tried again, what `failed` will not. What was
    `killed` is lost too, and may have been killed because memory ran out."""

    status: Literal["done", "failed", "lost", "killed", "in use", "stopped"]
    reason: str = ""


class JobListener(Protocol):
    """Is told what happens. Each job ends with `finished` or `failed`; one that was done before, at once."""

    def started(self, job: Job) -> None: ...

    def progress(self, job: Job, share: float) -> None:
        """The part of its epochs that is trained, whenever that has grown."""

    def finished(self, job: Job) -> None: ...

    def failed(self, job: Job, reason: str) -> None: ...

    def say(self, text: str) -> None:
        """A line about all of them."""


class Executor(Protocol):
    """Makes runs somewhere."""

    def run(self, jobs: Sequence[Job], workspace: Workspace, listener: JobListener) -> dict[str, str]:
        """Make all that is not done. Returns a line for each key that failed; raises Stopped after a signal."""


class Worker(Protocol):
    """Makes one run."""

    def at_work(self) -> bool:
        """False as long as it waits in a queue."""

    def result(self) -> JobResult | None:
        """None until it has ended."""

    def stop(self) -> None:
        """Tell it to save and end; does not wait for it."""


class WorkerPool(Protocol):
    """Workers that an executor can start."""

    capacity: int  # workers at a time

    def start(self, job: Job, workspace: Workspace) -> Worker: ...


def log_of(run: Run) -> Path:
    """What the making of a run said; a run that said nothing has none."""
    return run.path / "worker.log"


def run_job(config: RunConfig, workspace: Workspace) -> JobResult:
    """Train one run (or go on with it) and say how it ended."""
    log = log_of(workspace.run(config))
    try:
        plugins.load()
        with _output_to(log):
            train_config(config, replace(workspace, silent=True))
    except RunInUse as error:
        return JobResult("in use", str(error))
    except UserError as error:
        return JobResult("failed", str(error))
    except (Stopped, KeyboardInterrupt) as error:
        return JobResult("stopped", str(error))
    except OSError as error:
        return JobResult("lost", describe_os_error(error))
    except Exception as error:
        said = traceback.format_exception_only(error)[-1].strip()
        return JobResult("lost", " ".join(f"{said} (more in {log})".split()))
    return JobResult("done")


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """What libraries print goes to a file, and the traceback of an unexpected end."""
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("a") as stream, redirect_stdout(stream), redirect_stderr(stream):
            try:
                yield
            except (UserError, Stopped):
                raise
            except Exception:
                traceback.print_exc()
                raise
    finally:
        with suppress(FileNotFoundError):  # another process may have tried the same run
            if not log.stat().st_size:
                log.unlink()


def run_jobs(
    jobs: Sequence[Job], workspace: Workspace, listener: JobListener, pool: WorkerPool, *, retries: int
) -> dict[str, str]:
    """Make the runs with a pool of workers; a worker that is lost is replaced up to `retries` times for each run."""
    work = _JobQueue(jobs, workspace, listener, pool, retries)
    with stop_requests() as stop:
        try:
            while work.waiting or work.workers:
                work.settle()
                if stop.is_set():
                    work.stop()
                    left = f"{len(work.waiting)} of {len(jobs)} runs are left"
                    raise Stopped(f"stopped, {left}; start it again to go on from here")
                work.begin()
                work.tell()
                time.sleep(TICK_SECONDS)
        except BaseException:
            work.let_go()
            raise
    return work.reasons


class _JobQueue:
    """Where every job of one call stands."""

    def __init__(
        self, jobs: Sequence[Job], workspace: Workspace, listener: JobListener, pool: WorkerPool, retries: int
    ) -> None:
        self.workspace, self.listener, self.pool, self.retries = workspace, listener, pool, retries
        self.waiting = {job.key: job for job in jobs}
        self.workers: dict[str, tuple[Job, Worker]] = {}
        self.elsewhere: dict[str, Job] = {}  # waiting for a process that is not ours to finish it
        self.reasons: dict[str, str] = {}  # of failures
        self.losses: Counter[str] = Counter()
        self.capacity = pool.capacity
        self.shares: dict[str, float] = {}  # that the listener knows of
        self.stopping = False

    def begin(self) -> None:
        """Start what is ready; drop what is done, or can never be made."""
        self.elsewhere = {}
        for key, job in list(self.waiting.items()):
            run = self.workspace.run(job.config)
            if run.done:
                self.listener.finished(self.waiting.pop(key))
            elif job.needs in self.reasons:
                self._fail(self.waiting.pop(key), f"its bias model failed: {self.reasons[job.needs]}")
            elif job.needs in self.waiting or job.needs in self.workers or len(self.workers) >= self.capacity:
                continue
            elif run.in_use:
                self.elsewhere[key] = job
            else:
                self.workers[key] = (self.waiting.pop(key), self.pool.start(job, self.workspace))

    def settle(self) -> None:
        """Note who has ended, and how."""
        for key, (job, worker) in list(self.workers.items()):
            result = worker.result()
            if result is None:
                continue
            del self.workers[key]
            if result.status == "done":
                self.listener.finished(job)
            elif result.status == "failed":
                self._fail(job, result.reason)
            elif result.status == "in use" or self.stopping:
                self.waiting[key] = job
            else:
                self._again(job, result)

    def tell(self) -> None:
        """Report what run directories show of the runs that are being made, by us or by others."""
        at_work = [job for job, worker in self.workers.values() if worker.at_work()]
        for job in [*at_work, *self.elsewhere.values()]:
            if job.key not in self.shares:
                self.shares[job.key] = 0.0
                self.listener.started(job)
            share = share_trained(self.workspace.run(job.config), job.config.train.epochs)
            if share > self.shares[job.key]:
                self.shares[job.key] = share
                self.listener.progress(job, share)

    def stop(self) -> None:
        """Tell all workers to stop, and wait until they have saved."""
        self.stopping = True
        self.let_go()
        while self.workers:
            time.sleep(TICK_SECONDS)
            self.settle()

    def let_go(self) -> None:
        for _, worker in self.workers.values():
            worker.stop()

    def _again(self, job: Job, result: JobResult) -> None:
        """A run whose worker was lost goes on from its checkpoint. If it was killed beside others, memory may have run
        out: from then on fewer run at a time, and that it could not go on is not held against it."""
        if result.status == "killed" and self.workers and self.capacity > 1:
            self.capacity = max(1, min(self.capacity - 1, len(self.workers)))
            self.listener.say(
                f"{job.key}: {result.reason}. Memory may have run out: no more than {self.capacity} at a time now"
            )
        else:
            self.losses[job.key] += 1
        if self.losses[job.key] > self.retries:
            self._fail(job, result.reason)
        else:
            self.waiting[job.key] = job

    def _fail(self, job: Job, reason: str) -> None:
        self.reasons[job.key] = reason
        self.listener.failed(job, reason)


UNIT = 1000  # image passes in a step of the bar


class OverallProgress:
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
        self.say(f"{job.key}: {reason}")
        self.finished(job)

    def say(self, text: str) -> None:
        self.meter.say(text)

    def _note(self) -> None:
        self.meter.note(f"{self.ended}/{self.runs} runs")


def sizes(jobs: Sequence[Job]) -> dict[str, int]:
    return {job.key: max(1, round(image_passes(job.config) / UNIT)) for job in jobs}


@contextmanager
def overall_progress(label: str, jobs: Sequence[Job], *, silent: bool = False) -> Iterator[OverallProgress]:
    """A bar over all of these jobs."""
    with meter(label, sum(sizes(jobs).values()), silent=silent) as shown:
        yield OverallProgress(shown, jobs)
