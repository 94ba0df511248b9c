"""Small real runs for executors: coloured digits, a tiny network, somebody who watches, and a driver to be killed."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairflac.config import plugins
from fairflac.config.run_config import RunConfig, resolve
from fairflac.errors import Stopped
from fairflac.reproduction.local_executor import LocalExecutor
from fairflac.reproduction.plan import Job, jobs_for
from fairflac.runs.directory import Run, Workspace, share_trained

MANY = 400  # epochs; nobody waits for the last
GATED = """
import time
from pathlib import Path

from fairflac.methods import Method
from fairflac.methods.vanilla import Vanilla


class Gated(Method):
    name = "gated"
    step = Vanilla.step

    def begin_epoch(self, epoch, training_set):
        while epoch and not Path("{gate}").exists():
            time.sleep(0.05)


METHODS = [Gated]
"""


@pytest.fixture
def gate(tmp_path: Path, own_plugins: None) -> Iterator[Path]:
    """A file that is not there: until it is, a run of the method `gated` waits after its first epoch."""
    file, plugin = tmp_path / "gate", tmp_path / "gated.py"
    plugin.write_text(GATED.format(gate=file))
    plugins.add_files([plugin])
    yield file
    file.touch()  # a worker of a test that failed ends too


def config(method: str = "vanilla", seed: int = 0, epochs: int = 1, **changes: Any) -> RunConfig:
    settings = {"epochs": epochs, "channels": [2, 2, 2, 2], "kernel_size": 3, "precision": "32-true", **changes}
    return resolve("biased-digits", method, seed, settings)


class Recorder:
    """A listener that writes down what it is told."""

    def __init__(self, on_progress: Callable[[Job], None] = lambda job: None) -> None:
        self.told: list[tuple[str, str]] = []
        self.shares: dict[str, list[float]] = {}
        self.on_progress = on_progress

    def started(self, job: Job) -> None:
        self.told.append(("started", job.key))

    def progress(self, job: Job, share: float) -> None:
        self.shares.setdefault(job.key, []).append(share)
        self.on_progress(job)

    def finished(self, job: Job) -> None:
        self.told.append(("finished", job.key))

    def failed(self, job: Job, reason: str) -> None:
        self.told.append(("failed", job.key))

    def say(self, text: str) -> None:
        self.told.append(("said", text))


def wait_until(fact: Callable[[], bool]) -> None:
    """However long that takes; pytest has a limit."""
    while not fact():
        time.sleep(0.02)


def has_epochs(run: Run, epochs: int = 1) -> bool:
    return share_trained(run, MANY) * MANY >= epochs


@contextmanager
def driver(runs: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has one long run made; it does not outlive the block."""
    with subprocess.Popen([sys.executable, __file__, str(runs)]) as process:
        try:
            yield process
        finally:
            process.kill()


def drive(runs: Path) -> None:
    try:
        LocalExecutor(1).run(jobs_for([config(epochs=MANY)]), Workspace(runs, runs), Recorder())
    except Stopped:
        sys.exit(130)


if __name__ == "__main__":
    drive(Path(sys.argv[1]))
