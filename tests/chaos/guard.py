"""One command in this process, watched: what it says, how it ends, its memory, and what it touches."""

import os
import re
import resource
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_MB = 1_000  # above what the process had before
ROOM = 6 << 30  # of addresses; who asks for more gets a MemoryError instead of the machine's memory
# Of a terminal; what the program may say itself is none of these.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
RUNS = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pty.spawn", "socket.connect")
MOVES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree")


@dataclass
class Outcome:
    """`kind` is a column of the table."""

    kind: str  # refused, accepted, or a fault
    detail: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0


@dataclass
class Watch:
    """Told by Python of every file that is opened for writing, and of every program that is started."""

    allowed: tuple[str, ...] = ()
    seen: list[str] = field(default_factory=list)
    on: bool = False

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open" and isinstance(given[0], str | bytes) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            self.check(event, given[0])
        elif event in RUNS:
            self.seen.append(f"{event} {given[:2]!r}"[:200])
        elif event in MOVES:
            for path in given[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                self.check(event, path)

    def check(self, event: str, path: Any) -> None:
        where = os.path.abspath(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else ""
        if where and where != os.devnull and not where.startswith(self.allowed):
            self.seen.append(f"{event} {where!r}")


WATCH = Watch()


def begin() -> None:
    """Once in a process."""
    sys.addaudithook(WATCH)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def call(words: Sequence[str], case: Path, also: Sequence[Path] = ()) -> Outcome:
    """`fairflac WORDS`, which may write below `case/out` and `also`."""
    from fairflac.cli import main
    from fairflac.system import progress

    progress._told.clear()  # every call is a new program: nothing was said before it
    sys.argv = ["fairflac", *words]
    WATCH.allowed = tuple(f"{os.path.abspath(one)}" for one in (case / "out", *also))
    WATCH.seen = []
    before = _snapshot(case)
    said = [case / "stdout", case / "stderr"]
    code: Any = None
    error = ""
    with _Captured(*said):
        megabytes = _reset_peak()
        start = time.process_time()
        WATCH.on = True
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            error = "".join(_ours(traceback.format_exc().splitlines(keepends=True)))
        finally:
            WATCH.on = False
        seconds = time.process_time() - start
        megabytes = _peak() - megabytes
    out, err = (file.read_bytes().decode(errors="backslashreplace") for file in said)
    for file in said:
        file.unlink()
    touched = [*WATCH.seen, *_changed(before, _snapshot(case))]
    kind, detail = _judged(code, error, out, err, touched, megabytes)
    return Outcome(kind, detail, seconds, megabytes)


def _judged(code: Any, error: str, out: str, err: str, touched: list[str], megabytes: float) -> tuple[str, str]:
    if touched:
        return "outside", "; ".join(touched[:3])
    if "MemoryError" in error or megabytes > MOST_MB:
        return "memory", f"{megabytes:.0f} MB {error[-300:]}"
    if error or "Traceback" in err:
        return "traceback", error or err
    if found := CONTROLS.search(out) or CONTROLS.search(err):
        return "unescaped", repr(found.string[max(0, found.start() - 80) : found.end() + 40])
    if "Warning" in err:
        return "noise", err
    if code == 0:
        return "accepted", ""
    lines = [line for line in err.splitlines() if line.startswith("fairflac:")]
    if code == 2 and len(lines) == 1 and err.rstrip("\n").endswith(lines[0]):
        return ("refused", lines[0]) if len(lines[0]) < 2_000 else ("noise", f"a line of {len(lines[0])} letters")
    return "noise", f"exit {code}: {err[-500:]}"


def _ours(lines: list[str]) -> list[str]:
    """Of a traceback: where in fairflac, and what."""
    return [line for line in lines if "src/fairflac" in line][-4:] + lines[-1:]


class _Captured:
    """What this process and its libraries write to the terminal goes to files."""

    def __init__(self, *files: Path) -> None:
        self.files = files

    def __enter__(self) -> None:
        self.kept = [os.dup(1), os.dup(2)]
        for number, file in zip((1, 2), self.files, strict=True):
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
            os.close(handle)

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, handle in zip((1, 2), self.kept, strict=True):
            os.dup2(handle, number)
            os.close(handle)


def _status(name: str) -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) / 1024


def _reset_peak() -> float:
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM")


def _snapshot(case: Path) -> dict[str, tuple[int, int]]:
    """Of all that lies in the folder of a case and beside it, but its output: libraries write past Python as well."""
    found = {}
    for folder, folders, names in os.walk(case):
        folders[:] = [name for name in folders if Path(folder, name) != case / "out"]
        for name in (*names, *folders):
            state = os.lstat(Path(folder, name))
            found[os.path.join(folder, name)] = (state.st_size, 0 if name in folders else state.st_mtime_ns)
    return found


def _changed(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]]) -> list[str]:
    own = ("stdout", "stderr")
    return [
        f"changed {path!r}"
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path) and os.path.basename(path) not in own
    ]
