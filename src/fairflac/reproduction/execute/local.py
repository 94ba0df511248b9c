"""Runs made by processes of this machine, one process for each run.

How many, and with how many threads? Small networks gain little from a second thread: two trainings with one thread each
get 1.1 to 1.7 times the work done of one with two. So there are as many workers as cores, with one thread each (which
also makes results independent of the number of cores). A GPU is filled by one.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from fairflac.reproduction.execute.executor import Watch, carry_out
from fairflac.reproduction.execute.worker import Outcome, log_of, task_line
from fairflac.reproduction.plan import Job
from fairflac.runs.directory import Workspace
from fairflac.system.hardware import best_device

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
                [sys.executable, "-m", "fairflac.reproduction.execute.worker"],
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
