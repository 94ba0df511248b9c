"""Progress of long work: a live bar with the time left on a terminal, plain lines elsewhere; durations; stopping."""

import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from fairflac.errors import UserError

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
    def __init__(self, progress: Progress, label: str, total: int, done: int) -> None:
        self.progress = progress
        self.task = progress.add_task(label, total=total, completed=done, note="")

    def advance(self, steps: int = 1) -> None:
        self.progress.advance(self.task, steps)

    def note(self, text: str) -> None:
        self.progress.update(self.task, note=text)

    def say(self, text: str) -> None:
        self.progress.console.print(text, style="yellow", markup=False, highlight=False)


class _Lines:
    def __init__(self, label: str, total: int, done: int) -> None:
        self.label, self.total, self.start, self.done = label, total, done, done
        self.text = ""
        self.began = self.spoke = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        self.done += steps
        now = time.monotonic()
        if now - self.spoke < PLAIN_SECONDS and self.done < self.total:
            return
        self.spoke = now
        elapsed = now - self.began
        left = elapsed / max(1, self.done - self.start) * (self.total - self.done)
        share = f"{self.done / self.total:4.0%}"
        print(f"{self.label}  {share}  {self.text}  {elapsed:.0f} s, {left:.0f} s left", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        self.text = text

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def tell(text: str) -> None:
    """A line for the person who started this, outside of any bar."""
    print(text, file=sys.stderr, flush=True)


_told: set[str] = set()


def tell_once(text: str) -> None:
    """As `tell`, but a line that this program has said is not said again; of several processes one speaks."""
    if text not in _told and os.environ.get("LOCAL_RANK", "0") == "0":
        _told.add(text)
        tell(text)


@contextmanager
def meter(label: str, total: int, *, done: int = 0, silent: bool = False) -> Iterator[Meter]:
    """Show progress of `total` steps, `done` of them finished before, on standard error."""
    console = Console(stderr=True)
    if silent:
        yield _Silent()
    elif console.is_terminal:
        columns = (
            TextColumn("{task.description:<16}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=console) as progress:
            yield _Bar(progress, label, total, done)
    else:
        yield _Lines(label, total, done)


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
