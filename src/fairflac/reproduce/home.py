"""Run directories on the machine that drives, for workers on machines that do not see them.

`Home` lives beside the driver (as a Ray actor); a worker makes its run in a folder of its own, which `made_away` fills
from home and mirrors back as it grows. So the directory at home is as good as a shared one: it shows progress, and
another worker can go on from it.
"""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from fairflac.config import RunConfig
from fairflac.errors import RunInUse
from fairflac.files import replacing
from fairflac.reproduce.worker import Outcome, make
from fairflac.runs import Run
from fairflac.train import Place

MIRROR_SECONDS = 2.0  # between two looks for something new
# Written in this order after all others, and read in the opposite order before all others. So a copy is always a state
# in which the run could have been killed: a best model newer than the checkpoint does no harm, an older one would.
LATE = ("last.pt", "metrics.jsonl", "predictions.npz", "result.json", "done")
OF_ONE_MACHINE = ("lock", "owner.json")

Files = dict[str, bytes]
Marks = dict[str, tuple[int, int]]  # by file name, what changes with the content


class Home:
    """Gives and takes files of run directories. It holds the lock of a run as long as a worker makes it."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.held: dict[str, ExitStack] = {}

    def open(self, key: str) -> Files:
        """What there is of a run that is going to be made."""
        with ExitStack() as stack:
            stack.enter_context(Run(self.runs / key).locked())
            self.held[key] = stack.pop_all()
        return self.read(key)

    def read(self, key: str) -> Files:
        return news(self.runs / key, {})

    def keep(self, key: str, files: Files) -> None:
        write_files(self.runs / key, files)

    def close(self, key: str) -> None:
        if key in self.held:
            self.held.pop(key).close()


class Ask(Protocol):
    """Calls a method of a Home that may be far away, and waits for its answer."""

    def __call__(self, method: str, *arguments: object) -> Files: ...


def made_away(config: RunConfig, place: Place, ask: Ask) -> Outcome:
    """`make`, where the folder of runs cannot be reached."""
    with tempfile.TemporaryDirectory(prefix="fairflac-") as folder:
        away = replace(place, runs=Path(folder))
        try:
            write_files(away.run(config).path, ask("open", config.folder))
        except RunInUse as error:
            return Outcome("in use", str(error))
        try:
            if stage_one := config.stage_one():
                write_files(away.run(stage_one).path, ask("read", stage_one.folder))
            with _mirrored(away.run(config).path, lambda files: ask("keep", config.folder, files)):
                outcome = make(config, away)
            return replace(outcome, reason=outcome.reason.replace(folder, str(place.runs)))
        finally:
            ask("close", config.folder)


@contextmanager
def _mirrored(folder: Path, send: Callable[[Files], object]) -> Iterator[None]:
    """Send what is new in a folder, now and then and in the end."""
    ended, seen = threading.Event(), Marks()
    news(folder, seen)

    def now_and_then() -> None:
        while not ended.wait(MIRROR_SECONDS):
            if files := news(folder, seen):
                send(files)

    thread = threading.Thread(target=now_and_then)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        send(news(folder, seen))


def news(folder: Path, seen: Marks) -> Files:
    """Files that have changed since they were `seen`, in the order in which a copy may be written."""
    found: Files = {}
    for name in chain(reversed(LATE), _early(folder)):
        with suppress(FileNotFoundError):
            status = (folder / name).stat()
            mark = (status.st_mtime_ns, status.st_size)
            if seen.get(name) != mark:
                found[name] = (folder / name).read_bytes()
                seen[name] = mark
    return dict(reversed(found.items()))


def _early(folder: Path) -> Iterator[str]:
    """Names of all other files, listed when the first is asked for; those with a dot are not yet whole."""
    for path in folder.glob("[!.]*"):
        if path.is_file() and path.name not in (*LATE, *OF_ONE_MACHINE):
            yield path.name


def write_files(folder: Path, files: Files) -> None:
    for name, content in files.items():
        with replacing(folder / name) as stream:
            stream.write(content)
