"""Power that fails, imitated: what was not synced may be gone.

As POSIX allows it, and no better. The content of a file holds up to its last fsync; what was written since is cut
somewhere. A name that came, went or was taken by a rename holds once its folder was synced; since then the changes of
one name are undone from the last one back, of each name on its own. Folders themselves stay: ext4, xfs and btrfs keep
the way to a file that was synced.
"""

import json
import os
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class State(NamedTuple):
    """Of a file, by which its content is known to be the same."""

    size: int
    changed: int  # nanoseconds


def states(folder: Path) -> dict[int, State]:
    """By inode."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            stat = path.stat()
            found[stat.st_ino] = State(stat.st_size, stat.st_mtime_ns)
    return found


def names(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}


class Recorder:
    """A listener that writes down what would survive; files whose name is taken or removed are kept in `aside`."""

    def __init__(self, folder: Path, aside: Path, then: Callable[[str, list[str]], None]) -> None:
        self.folder, self.aside, self.then, self.number = folder.resolve(), aside, then, 0
        self.journal = os.open(aside / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def __call__(self, kind: str, places: list[str]) -> None:
        self.then(kind, places)  # it may be the end
        if kind in ("os.rename", "os.remove") and not os.path.isdir(places[0]):
            self._write(kind=kind, name=places[-1], source=places[0], before=self._kept(places[-1]))
        elif kind == "fsync" and os.path.exists(places[0]):
            stat = os.stat(places[0])
            self._write(kind=kind, inode=stat.st_ino, state=State(stat.st_size, stat.st_mtime_ns))
        elif kind == "sync folder":
            self._write(kind=kind, folder=places[0], names=[entry.path for entry in os.scandir(places[0])])
        elif kind == "sync all":
            self._write(kind=kind, names=sorted(names(self.folder)), states=list(states(self.folder).items()))

    def _kept(self, name: str) -> str | None:
        if not os.path.isfile(name):
            return None
        self.number += 1
        place = str(self.aside / f"{os.getpid()}-{self.number}")
        os.link(name, place)
        return place

    def _write(self, **entry: Any) -> None:
        os.write(self.journal, (json.dumps(entry) + "\n").encode())


def fail(folder: Path, aside: Path, before: dict[int, State], there: set[str], rng: random.Random) -> None:
    """Make the folder what a disk might hold that lost its power; `before`, `there`: how it was when work began."""
    folder = folder.resolve()
    journal = aside / "journal"
    lines = journal.read_text().splitlines() if journal.exists() else []
    synced, listed, pending = dict(before), set(there), defaultdict[str, list[dict[str, Any]]](list)
    for entry in map(json.loads, lines):
        if entry["kind"] == "fsync":
            synced[entry["inode"]] = State(*entry["state"])
        elif entry["kind"] == "sync folder":
            listed |= set(entry["names"])
            for name in [name for name in pending if os.path.dirname(name) == entry["folder"]]:
                del pending[name]
        elif entry["kind"] == "sync all":
            listed |= set(entry["names"])
            synced |= {inode: State(*state) for inode, state in entry["states"]}
            pending.clear()
        else:
            pending[entry["name"]].append(entry)
            listed.add(entry["name"])
    for name in sorted(names(folder) - listed):  # made by an open
        if rng.random() < 0.5:
            os.unlink(name)
    for name, entries in pending.items():
        _undo(Path(name), entries[rng.randint(0, len(entries)) :])
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        stat = path.stat()
        held = synced.get(stat.st_ino, State(0, 0))
        if held != (stat.st_size, stat.st_mtime_ns):
            os.truncate(path, rng.randint(min(held.size, stat.st_size), stat.st_size))


def _undo(path: Path, entries: list[dict[str, Any]]) -> None:
    if not entries or not path.parent.is_dir():
        return
    if path.exists() and entries[-1]["kind"] == "os.rename":
        os.replace(path, entries[-1]["source"])  # under the name that it had
    path.unlink(missing_ok=True)
    if entries[0]["before"]:
        os.link(entries[0]["before"], path)
