"""Runs made by worker processes of this machine.

A worker (`python -m fairflac.reproduction.local_executor`) reads its task from standard input and writes its answer to
standard output. The input stays open: when it closes, because the executor stops or has died, training stops at its
next step with everything saved.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from fairflac.config.run_config import RunConfig
from fairflac.reproduction.plan import Job
from fairflac.reproduction.scheduler import JobListener, JobResult, log_of, run_job, run_jobs
from fairflac.runs.directory import Workspace
from fairflac.system.hardware import best_device
from fairflac.system.invocation import remember, typed_words

RETRIES = 1  # a process that was killed goes on once; killed again, something is wrong with the run or the machine


class LocalExecutor:
    """A pool of worker processes."""

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        self.threads = threads or 1
        self.capacity = workers or default_workers(self.threads)

    def run(self, jobs: Sequence[Job], workspace: Workspace, listener: JobListener) -> dict[str, str]:
        return run_jobs(jobs, workspace, listener, self, retries=RETRIES)

    def start(self, job: Job, workspace: Workspace) -> "_Process":
        return _Process(job, workspace, self.threads)


def default_workers(threads: int) -> int:
    """For this machine: what its cores carry, or one for its GPU."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux: the cores that a batch system gave us
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    return 1 if best_device() != "cpu" else max(1, cores // threads)


class _Process:
    """A worker whose standard input closes when this process lets go of it or dies."""

    def __init__(self, job: Job, workspace: Workspace, threads: int) -> None:
        self.log = log_of(workspace.run(job.config))
        self.log.parent.mkdir(parents=True, exist_ok=True)
        counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        with self.log.open("a") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fairflac.reproduction.local_executor"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                env={"OMP_WAIT_POLICY": "passive", **os.environ, **counts},
                start_new_session=True,  # Ctrl-C is for this process, which passes it on by closing the input
                text=True,
            )
        # Where memory runs out, Linux is to end a worker, and not this process, which replaces it.
        with suppress(OSError):
            Path(f"/proc/{self.process.pid}/oom_score_adj").write_text("500")
        assert self.process.stdin and self.process.stdout
        self.stdin, self.answers = self.process.stdin, self.process.stdout
        with suppress(BrokenPipeError):  # it died already: so the result will say
            self.stdin.write(task_line(job.config, workspace))
            self.stdin.flush()

    def at_work(self) -> bool:
        return True

    def result(self) -> JobResult | None:
        code = self.process.poll()
        if code is None:
            return None
        self.stop()
        with self.answers:
            answer = self.answers.read()
        try:
            return JobResult(**json.loads(answer))
        except ValueError:
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            status: Literal["killed", "lost"] = "killed" if code == -signal.SIGKILL else "lost"
            return JobResult(status, f"its process {how} (what it said: {self.log})")

    def stop(self) -> None:
        with suppress(BrokenPipeError):
            self.stdin.close()


def task_line(config: RunConfig, workspace: Workspace) -> str:
    """What a worker process reads."""
    places = {"runs": str(workspace.runs), "data": str(workspace.data), "logger": workspace.logger}
    task = {"config": config.model_dump(mode="json"), **places, "command": typed_words()}
    return json.dumps(task) + "\n"


def _stop_when_left_alone() -> None:
    """Ends this process as SIGTERM does once nobody holds the other end of standard input."""
    while os.read(0, 1):  # not sys.stdin, whose lock a waiting thread would hold at exit
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # an answer is all that standard output carries
        task = json.loads(sys.stdin.readline())
        threading.Thread(target=_stop_when_left_alone, daemon=True).start()
        remember(task["command"])
        config = RunConfig.model_validate(task["config"])
        result = run_job(config, Workspace(Path(task["runs"]), Path(task["data"]), logger=task["logger"]))
        json.dump(asdict(result), answers)


if __name__ == "__main__":
    main()
