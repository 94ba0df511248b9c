"""Progress of long work: a live bar with the time left on a terminal, plain lines elsewhere; durations; stopping.

Work of several stages (bias model, vanilla, FLAC …) says which of them runs, and how long all of it takes.
"""

import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fairflac.errors import UserError
from fairflac.system.tables import printable

PLAIN_SECONDS = 15.0  # between two plain lines
UNITS = {"s": 1, "m": 60, "h": 3600}


class Meter(Protocol):
    """Progress of one piece of work."""

    def advance(self, steps: int = 1) -> None: ...

    def note(self, text: str) -> None:
        """What to show beside the bar, for example the epoch."""

    def say(self, text: str) -> None:
        """A line of its own, above the bar."""


class _Silent:
    def advance(self, steps: int = 1) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def say(self, text: str) -> None:
        pass


class _Bar:
    def __init__(self, progress: Progress, stage: "_Stage", total: int, done: int) -> None:
        self.progress, self.stage = progress, stage
        self.task = progress.add_task(printable(stage.label), total=total, completed=done, note="", whole="")

    def advance(self, steps: int = 1) -> None:
        self.progress.advance(self.task, steps)
        self.stage.done += steps
        whole = self.stage.whole
        self.progress.update(self.task, whole="" if whole is None else f"in all {duration(whole)}")

    def note(self, text: str) -> None:
        self.progress.update(self.task, note=printable(text))

    def say(self, text: str) -> None:
        self.progress.console.print(printable(text), style="yellow", markup=False, highlight=False)


class _Lines:
    def __init__(self, stage: "_Stage") -> None:
        self.stage = stage
        self.text = ""
        self.spoke = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        stage = self.stage
        stage.done += steps
        now = time.monotonic()
        if now - self.spoke < PLAIN_SECONDS and stage.done < stage.total:
            return
        self.spoke = now
        share, whole = f"{stage.done / stage.total:4.0%}", stage.whole
        line = f"{stage.label}  {share}  {self.text}  {stage.elapsed:.0f} s, {stage.left:.0f} s left"
        also = "" if whole is None else f"; all of it: about {duration(whole)} left"
        print(printable(line + also), file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        self.text = text

    def say(self, text: str) -> None:
        print(printable(text), file=sys.stderr, flush=True)


_quiet = False


def be_quiet(wanted: bool = True) -> None:
    """No bars, and no lines but those that must be read. What a command was asked for is printed all the same."""
    global _quiet
    _quiet = wanted


def is_quiet() -> bool:
    return _quiet


def tell(text: str, *, even_quietly: bool = False) -> None:
    """A line for the person who started this, outside of any bar; `even_quietly`: something is not as it should be."""
    if even_quietly or not _quiet:
        print(printable(text), file=sys.stderr, flush=True)


_work: dict[str, float] | None = None  # of all stages, by label; None: nobody has said what is to come
_past: tuple[float, float] = (0.0, 0.0)  # seconds that stages before this one took, and their work


@contextmanager
def stages() -> Iterator[None]:
    """Around work of several stages, which `expect` names. Inside of another such block it is a part of that one."""
    global _work, _past
    if _work is not None:
        yield
        return
    _work, _past = {}, (0.0, 0.0)
    try:
        yield
    finally:
        _work = None


def expect(work: Mapping[str, float]) -> None:
    """Stages that come one after the other: what each has to do, in any unit, by the label of its meter."""
    if _work is not None:
        _work.update({label: amount for label, amount in work.items() if label not in _work})


class _Stage:
    """Where one piece of work stands, and what comes after it."""

    def __init__(self, name: str, total: int, done: int) -> None:
        self.total, self.start, self.done = total, done, done
        self.began = time.monotonic()
        known = list(_work or {})
        self.label, self.work, self.later = name, 0.0, 0.0
        if _work and name in _work and len(known) > 1:
            place = known.index(name)
            self.label = f"{place + 1}/{len(known)} {name}"
            self.work, self.later = _work[name], sum(_work[label] for label in known[place + 1 :])

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds, at the pace so far."""
        return self.elapsed / max(1, self.done - self.start) * (self.total - self.done)

    @property
    def whole(self) -> float | None:
        """Seconds that all stages still take, at the pace so far; None: it is the last, or nobody knows yet."""
        if not (self.work and self.later) or self.done == self.start:
            return None
        seconds, work = self.past
        return self.left + seconds / work * self.later

    @property
    def past(self) -> tuple[float, float]:
        """Of all stages up to here: a bias model of a few seconds alone would say little of the others."""
        to_do = max(1, self.total - self.start)  # its work is that of the steps that were left
        return _past[0] + self.elapsed, _past[1] + self.work * (self.done - self.start) / to_do

    def end(self) -> None:
        global _past
        if self.work:
            _past = self.past


_told: set[str] = set()


def tell_once(text: str) -> None:
    """As `tell`, but a line that this program has said is not said again; of several processes one speaks."""
    if text not in _told and os.environ.get("LOCAL_RANK", "0") == "0":
        _told.add(text)
        tell(text)


@contextmanager
def meter(label: str, total: int, *, done: int = 0, silent: bool = False) -> Iterator[Meter]:
    """Show progress of `total` steps, `done` of them finished before, on standard error."""
    console, stage = Console(stderr=True), _Stage(label, total, done)
    if silent or _quiet:
        yield _Silent()
        return
    if console.is_terminal:
        columns = (
            TextColumn("{task.description:<16}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            *(() if stage.later else (TimeElapsedColumn(),)),  # there is no room for everything
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[whole]}"),
        )
        with Progress(*columns, console=console) as progress:
            yield _Bar(progress, stage, total, done)
    else:
        yield _Lines(stage)
    stage.end()


def duration(seconds: float) -> str:
    """`90 s`, `10 min`, `2.5 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def parse_duration(text: str) -> float:
    """`90s`, `10m`, `1.5h` → seconds."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh])\s*", text)
    if not found or not 0 < float(found[1]) < math.inf:
        raise UserError(f"'{text}' is no time: give one such as 90s, 10m or 2h")
    return float(found[1]) * UNITS[found[2]]


@contextmanager
def stop_requests() -> Iterator[threading.Event]:
    """Ctrl-C or SIGTERM sets the event; a second Ctrl-C interrupts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def request(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
