"""A real command in a process of its own, which may be killed.

The process is a fork of one that has imported everything, so that a moment drawn at random falls into the work and not
into imports. From there on it is the program: its words, its signals, its files.
"""

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tiny_tables import tiny_tables

PATIENCE = 900  # seconds, after which a command hangs: `reproduce` takes half of it on a busy machine


@dataclass
class Victim:
    """One that was started."""

    pid: int
    said: Path
    began: float
    code: int | None = None  # as of subprocess: negative for a signal

    def wait(self, seconds: float = PATIENCE) -> int | None:
        """Its exit code; None if it still runs."""
        if self.code is None:
            handle = os.pidfd_open(self.pid)
            try:
                ended = select.select([handle], [], [], max(0, seconds))[0]
            finally:
                os.close(handle)
            if ended:
                self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code

    def wait_until(self, seconds: float) -> int | None:
        """Counted from its start."""
        return self.wait(self.began + seconds - time.monotonic())

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.code is None:
            os.kill(self.pid, number)

    @property
    def words(self) -> str:
        return self.said.read_text(errors="replace") if self.said.exists() else ""

    @property
    def last_line(self) -> str:
        return next(iter(reversed(self.words.split("\n")[:-1])), "")


def start(words: Sequence[str], folder: Path, said: Path, prepare: Callable[[], None] | None = None) -> Victim:
    """`prepare` is called in the new process before the program begins."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        _become(words, folder, said, prepare)
    return Victim(pid, said, time.monotonic())


def finish(words: Sequence[str], folder: Path, said: Path, prepare: Callable[[], None] | None = None) -> Victim:
    """Started and waited for; one that hangs is killed, and its code is then that of the signal."""
    victim = start(words, folder, said, prepare)
    if victim.wait() is None:
        victim.kill()
        victim.wait()
    return victim


def _become(words: Sequence[str], folder: Path, said: Path, prepare: Callable[[], None] | None) -> NoReturn:
    code = 1
    try:
        os.chdir(folder)
        os.setsid()  # Ctrl-C of the one who watches is not meant for it
        nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for number, handle in enumerate((nothing, output, output)):
            os.dup2(handle, number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _shorten()
        sys.argv = ["fairflac", *words]
        if prepare is not None:
            prepare()

        from fairflac.cli import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _shorten() -> None:
    """As in all tests: a page takes seconds for its map of all test images, and tables are of digits for seconds."""
    from fairflac.reporting.figures import feature_map

    feature_map.MOST_POINTS, feature_map.STEPS = 60, 250  # type: ignore[misc]
    tiny_tables(epochs=4)


def load(modules: Iterable[str]) -> None:
    """Before the first is started. Nothing is computed here: a fork has no threads but its own."""
    for name in ("fairflac.cli", "fairflac.training.pipeline", *modules):
        import_module(name)
