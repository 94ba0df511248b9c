"""Every operation of this process that changes files below a folder, told to a listener before it is done."""

import mmap
import os
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {"os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.mkdir": 1}  # audit event → how many arguments are paths

# What is done, and to what: "open" for writing, an audit event of PATHS, "fsync", "sync folder" or "sync all".
Listener = Callable[[str, list[str]], None]


def watch(folder: Path, listener: Listener) -> None:
    """From now on and for as long as this process lives. What the listener does itself is not told."""
    home, busy = os.path.realpath(folder), False

    def tell(kind: str, places: list[str]) -> None:
        nonlocal busy
        if not busy and any(place.startswith(home) for place in places):
            busy = True
            try:
                listener(kind, places)
            finally:
                busy = False

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes) and arguments[2] & WRITING:
            tell("open", [os.path.abspath(os.fsdecode(arguments[0]))])
        elif event in PATHS and -1 in arguments[PATHS[event] :]:  # none that is relative to an open folder
            tell(event, [os.path.abspath(os.fsdecode(place)) for place in arguments[: PATHS[event]]])

    sync_file, sync_all = os.fsync, os.sync

    def fsync(handle: int) -> None:
        kind = "sync folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "fsync"
        tell(kind, [os.readlink(f"/proc/self/fd/{handle}")])
        sync_file(handle)

    def sync() -> None:
        tell("sync all", [home])
        sync_all()

    os.fsync, os.sync = fsync, sync  # type: ignore[assignment]
    sys.addaudithook(audit)


class Counter:
    """A listener whose count is seen by the process that it was forked from; `at` that operation it calls `then`."""

    def __init__(self, at: int | None = None, then: Callable[[], None] | None = None) -> None:
        self.shared, self.at, self.then = mmap.mmap(-1, 8), at, then

    @property
    def count(self) -> int:
        number: int = struct.unpack("q", self.shared[:8])[0]
        return number

    def __call__(self, kind: str, places: list[str]) -> None:
        self.shared[:8] = struct.pack("q", self.count + 1)
        if self.count == self.at and self.then:
            self.then()
