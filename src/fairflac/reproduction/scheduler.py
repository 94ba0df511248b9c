"""What makes the runs of a table: the contract, and all that executors have in common.

An executor only knows how to start a worker on one run. Which run is next, what a failure means for the runs that need
it, trying again and stopping are here.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from fairflac.errors import Stopped
from fairflac.reproduction.estimate import image_passes
from fairflac.reproduction.plan import Job
from fairflac.reproduction.worker import Outcome, log_of, task_line
from fairflac.runs.directory import Run, Workspace
from fairflac.system.hardware import best_device
from fairflac.system.progress import Meter, meter, stop_requests

TICK_SECONDS = 0.25  # between two looks at the workers


class Watch(Protocol):
    """Who is told what happens. Each job ends with `finished` or `failed`; one that was done before, at once."""

    def started(self, job: Job) -> None: ...

    def progress(self, job: Job, share: float) -> None:
        """The part of its epochs that is trained, whenever that has grown."""

    def finished(self, job: Job) -> None: ...

    def failed(self, job: Job, reason: str) -> None: ...


class Executor(Protocol):
    """Makes runs somewhere."""

    def run(self, jobs: Sequence[Job], workspace: Workspace, watch: Watch) -> dict[str, str]:
        """Make all that is not done. Returns a line for each key that failed; raises Stopped after a signal."""


class Worker(Protocol):
    """Somebody who makes one run."""

    def at_work(self) -> bool:
        """False as long as it waits for a place to work at."""

    def outcome(self) -> Outcome | None:
        """None until it has ended."""

    def stop(self) -> None:
        """Ask it to save and end; does not wait for it."""


class Crew(Protocol):
    """Workers that an executor can start."""

    room: int  # for so many at a time

    def start(self, job: Job, workspace: Workspace) -> Worker: ...


def carry_out(jobs: Sequence[Job], workspace: Workspace, watch: Watch, crew: Crew, *, retries: int) -> dict[str, str]:
    """Make the runs with a crew; a worker that is lost is replaced up to `retries` times for each run."""
    work = _Work(jobs, workspace, watch, crew, retries)
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


class _Work:
    """Where every job of one call stands."""

    def __init__(self, jobs: Sequence[Job], workspace: Workspace, watch: Watch, crew: Crew, retries: int) -> None:
        self.workspace, self.watch, self.crew, self.retries = workspace, watch, crew, retries
        self.waiting = {job.key: job for job in jobs}
        self.workers: dict[str, tuple[Job, Worker]] = {}
        self.elsewhere: dict[str, Job] = {}  # waiting for a process that is not ours to finish it
        self.reasons: dict[str, str] = {}  # of failures
        self.losses: Counter[str] = Counter()
        self.shares: dict[str, float] = {}  # that the watch knows of
        self.stopping = False

    def begin(self) -> None:
        """Start what is ready; drop what is done, or can never be made."""
        self.elsewhere = {}
        for key, job in list(self.waiting.items()):
            run = self.workspace.run(job.config)
            if run.done:
                self.watch.finished(self.waiting.pop(key))
            elif job.needs in self.reasons:
                self._fail(self.waiting.pop(key), f"its bias model failed: {self.reasons[job.needs]}")
            elif job.needs in self.waiting or job.needs in self.workers or len(self.workers) >= self.crew.room:
                continue
            elif run.in_use:
                self.elsewhere[key] = job
            else:
                self.workers[key] = (self.waiting.pop(key), self.crew.start(job, self.workspace))

    def settle(self) -> None:
        """Note who has ended, and how."""
        for key, (job, worker) in list(self.workers.items()):
            outcome = worker.outcome()
            if outcome is None:
                continue
            del self.workers[key]
            if outcome.end == "done":
                self.watch.finished(job)
            elif outcome.end == "failed":
                self._fail(job, outcome.reason)
            elif outcome.end == "in use" or self.stopping:
                self.waiting[key] = job
            else:
                self._again(job, outcome.reason)

    def tell(self) -> None:
        """Report what run directories show of the runs that are being made, by us or by others."""
        at_work = [job for job, worker in self.workers.values() if worker.at_work()]
        for job in [*at_work, *self.elsewhere.values()]:
            if job.key not in self.shares:
                self.shares[job.key] = 0.0
                self.watch.started(job)
            share = share_trained(self.workspace.run(job.config), job.config.train.epochs)
            if share > self.shares[job.key]:
                self.shares[job.key] = share
                self.watch.progress(job, share)

    def stop(self) -> None:
        """Ask all workers to stop, and wait until they have saved."""
        self.stopping = True
        self.let_go()
        while self.workers:
            time.sleep(TICK_SECONDS)
            self.settle()

    def let_go(self) -> None:
        for _, worker in self.workers.values():
            worker.stop()

    def _again(self, job: Job, reason: str) -> None:
        """A run whose worker was lost goes on from its checkpoint."""
        self.losses[job.key] += 1
        if self.losses[job.key] > self.retries:
            self._fail(job, reason)
        else:
            self.waiting[job.key] = job

    def _fail(self, job: Job, reason: str) -> None:
        self.reasons[job.key] = reason
        self.watch.failed(job, reason)


def share_trained(run: Run, epochs: int) -> float:
    """The part of its epochs that a run has behind it: one line of its history each."""
    try:
        lines = (run.path / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0.0
    return min(1.0, lines / max(1, epochs))


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


RETRIES = 1  # a process that was killed goes on once; killed again, something is wrong with the run or the machine


class LocalExecutor:
    """A pool of worker processes."""

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        self.threads = threads or 1
        self.room = workers or default_workers(self.threads)

    def run(self, jobs: Sequence[Job], workspace: Workspace, watch: Watch) -> dict[str, str]:
        return carry_out(jobs, workspace, watch, self, retries=RETRIES)

    def start(self, job: Job, workspace: Workspace) -> "_Process":
        return _Process(job, workspace, self.threads)


def default_workers(threads: int) -> int:
    """For this machine: what its cores carry, or one for its GPU."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux: the cores that a batch system gave us
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    return 1 if best_device() != "cpu" else max(1, cores // threads)


class _Process:
    """A worker on a leash: its standard input, which closes when this process lets go or dies."""

    def __init__(self, job: Job, workspace: Workspace, threads: int) -> None:
        self.log = log_of(workspace.run(job.config))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        with self.log.open("a") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairflac.reproduction.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env={"OMP_WAIT_POLICY": "passive", **os.environ, **counts},
                start_new_session=True,  # Ctrl-C is for the process that drives, which passes it on by the leash
                text=True,
            )
        assert self.process.stdin and self.process.stdout
        self.leash, self.answers = self.process.stdin, self.process.stdout
        with suppress(BrokenPipeError):  # it died already: so the outcome will say
            self.leash.write(task_line(job.config, workspace))
            self.leash.flush()

    def at_work(self) -> bool:
        return True

    def outcome(self) -> Outcome | None:
        code = self.process.poll()
        if code is None:
            return None
        self.stop()
        with self.answers:
            answer = self.answers.read()
        try:
            return Outcome(**json.loads(answer))
        except ValueError:
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            return Outcome("lost", f"its process {how} (what it said: {self.log})")

    def stop(self) -> None:
        with suppress(BrokenPipeError):
            self.leash.close()
