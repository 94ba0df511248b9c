"""Bad input by the thousand: `PYTHONPATH=tests python -m chaos.inputs --count 10000 --seed 0` prints one table.

Each is written to a folder of its own and given to the command line, in one process that goes from input to input. What
is right: a result, or one line and exit code 2. What is wrong: anything else, more than SECONDS or `guard.MOST_MB`,
a file touched outside of the output folder, a program started, or a name that reaches a terminal, a page or a table
unescaped. Input number i of a kind is the same for the same seed: `--only KIND --from I --count 1 --keep` repeats it.
Kinds come in turn: Ctrl-C or SIGTERM ends it with the table of what was tried so far.
"""

import argparse
import csv
import faulthandler
import multiprocessing
import os
import platform
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from chaos import guard
from chaos.guard import Outcome
from chaos.kinds import KINDS
from chaos.mutations import MARK
from chaos.world import World, make_world
from fairflac.cli import main as program

SECONDS = 20.0  # of the processor for one input, of which most take a fiftieth of a second
HANGS = 180.0  # seconds by the clock: a busy machine is no fault of the input
COLUMNS = {
    "refused": "one line, exit 2",
    "accepted": "accepted",
    "traceback": "tracebacks",
    "crash": "crashes",
    "slow": "too slow",
    "memory": "too much memory",
    "outside": "files touched outside, programs started",
    "unescaped": "unescaped",
    "noise": "other words",
}
FAULTS = tuple(COLUMNS)[2:]
STOPS = (signal.SIGINT, signal.SIGTERM)


def plan(count: int, only: str | None = None, first: int = 0) -> list[tuple[str, int]]:
    """How many of each kind: its share, and at least one."""
    if only:
        return [(only, first + i) for i in range(count)]
    whole = sum(kind.share for kind in KINDS.values())
    numbers = {name: max(1, round(count * kind.share / whole)) for name, kind in KINDS.items()}
    numbers["images"] += count - sum(numbers.values())
    tasks = [(name, i) for name, number in numbers.items() for i in range(number)]
    return sorted(tasks, key=lambda task: (task[1] + 0.5) / numbers[task[0]])  # all kinds in turn


def try_one(world: World, folder: Path, name: str, number: int, seed: int, keep: bool = False) -> Outcome:
    """One input, in this process."""
    case = folder / f"{name.replace(' ', '-')}-{number}"
    shutil.rmtree(case, ignore_errors=True)
    (case / "in").mkdir(parents=True)
    (case / "out").mkdir()
    words = KINDS[name].trial(world, case, random.Random(f"{seed} {name} {number}"))
    os.chdir(case / "out")
    try:
        outcome = guard.call(words, case, also=[world.data, world.root.parent / "tmp"])
    finally:
        os.chdir(folder)
    if outcome.seconds > SECONDS:
        outcome.kind, outcome.detail = "slow", f"{outcome.seconds:.0f} s"
    if outcome.kind == "accepted" and (found := _unescaped(case / "out")):
        outcome.kind, outcome.detail = "unescaped", found
    if (case / "canary").exists() or (case / "out" / "canary").exists():
        outcome.kind, outcome.detail = "outside", "a program was run"
    if outcome.kind in FAULTS:
        outcome.detail = f"fairflac {' '.join(map(ascii, words))[:400]}\n{outcome.detail}"
    if not keep:
        shutil.rmtree(case, ignore_errors=True)
    return outcome


RAW = (f"<script>alert({MARK})", f"<img src=x onerror=alert({MARK})", f"<svg onload=alert({MARK})")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = f"[x](javascript:alert({MARK}))"  # in Markdown; elsewhere it is text


def _unescaped(folder: Path) -> str:
    """A payload in what was written: markup in a page, a formula in a table."""
    for path in folder.rglob("*"):
        if path.suffix in (".html", ".md", ".svg"):
            text = path.read_text()
            if path.suffix == ".md":  # what is in a block of code is text
                text = CODE.sub("", text)
            if found := next((one for one in (*RAW, *[LINK] * (path.suffix == ".md")) if one in text), None):
                return f"{path.name} has {found}"
        if path.suffix == ".csv":
            with path.open(newline="") as stream:
                cells = [cell for row in csv.reader(stream) for cell in row]
            if found := next((one for one in cells if one[:1] in "=@+-\t\r" and str(MARK) in one), None):
                return f"{path.name} has the formula {found!r}"
    return ""


_WARM_UP = (
    ["predict", "{world}/seeds/ours.onnx", "{world}/photos/above/00.png"],
    ["data", "check", "{world}/seeds/table.parquet", "--data", "{tmp}"],
    ["train", "--config", "{world}/seeds/config.toml", "--runs", "{tmp}", "--data", "{world}/data"],
)


def _worker(pipe: Connection, root: Path, seed: int, keep: bool) -> None:
    """Goes from input to input, until one kills it or takes too long."""
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)  # it ends with who started it
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["FAIRFLAC_DATA"] = str(root / "world" / "data")  # where no --data is given
    (root / "tmp").mkdir(exist_ok=True)
    tempfile.tempdir = os.environ["TMPDIR"] = str(root / "tmp")  # where temporary files may go
    faulthandler.enable(open(root / "crash", "w"))  # noqa: SIM115 (open as long as the process)
    folder = root / "cases"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    world = make_world(root / "world")
    _small_figures()
    for words in _WARM_UP:  # libraries are imported now, and not on the clock of an input
        sys.argv = ["fairflac", *(word.format(world=world.root, tmp=root / "tmp") for word in words)]
        with suppress(SystemExit), open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            program()
    platform.processor()  # asks another program, once
    guard.begin()
    pipe.send("ready")
    while (task := pipe.recv()) is not None:
        pipe.send(try_one(world, folder, *task, seed, keep))


def _small_figures() -> None:
    """A page takes seconds for its map of all images."""
    from fairflac.reporting.figures import feature_map

    feature_map.MOST_POINTS, feature_map.STEPS = 60, 250


def outcomes(tasks: Iterable[tuple[str, int]], root: Path, seed: int, keep: bool) -> Iterator[tuple[str, int, Outcome]]:
    """Of each input; a process that dies or hangs is replaced."""
    start = multiprocessing.get_context("spawn")
    pipe: Any = None
    worker: Any = None
    for name, number in tasks:
        if worker is None:
            pipe, other = start.Pipe()
            worker = start.Process(target=_worker, args=(other, root, seed, keep), daemon=True)
            worker.start()
            other.close()
            assert pipe.recv() == "ready"
        pipe.send((name, number))
        try:
            if pipe.poll(HANGS):
                yield name, number, pipe.recv()
                continue
            outcome = Outcome("slow", f"more than {HANGS:.0f} s by the clock")
        except EOFError:
            worker.join()
            outcome = Outcome("crash", f"exit {worker.exitcode}: {(root / 'crash').read_text()[:1500]}")
        worker.kill()
        worker.join()
        worker = None
        yield name, number, outcome
    if worker is not None:
        pipe.send(None)
        worker.join()


def table(counts: dict[str, Counter[str]]) -> str:
    lines = [["kind", "tried", *COLUMNS.values()]]
    for name, found in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        lines.append([name, str(found.total()), *(str(found[column]) for column in COLUMNS)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="leave the inputs where they are, and say where")
    asked = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # thousands of small files, each synced
    root = Path(tempfile.mkdtemp(prefix="fairflac-inputs-", dir=memory))
    counts: dict[str, Counter[str]] = {}
    begun, slowest, largest = time.monotonic(), ("", 0.0), ("", 0.0)
    stop: list[int] = []
    for signalled in STOPS:
        signal.signal(signalled, lambda number, _: stop.append(number))
    tasks = (task for task in plan(asked.count, asked.only, asked.first) if not stop)
    for name, number, outcome in outcomes(tasks, root, asked.seed, asked.keep):
        counts.setdefault(name, Counter())[outcome.kind] += 1
        slowest = max(slowest, (f"{name} {number}", outcome.seconds), key=lambda one: one[1])
        largest = max(largest, (f"{name} {number}", outcome.megabytes), key=lambda one: one[1])
        if outcome.kind in FAULTS or asked.count == 1:
            print(f"--- {name} {number}: {outcome.kind}\n{outcome.detail}", flush=True)
    print(table(counts))
    print(
        f"{time.monotonic() - begun:.0f} s; slowest: {slowest[0]}, {slowest[1]:.1f} s; "
        f"most memory: {largest[0]}, {largest[1]:.0f} MB"
    )
    if asked.keep:
        print(f"inputs: {root}")
    else:
        shutil.rmtree(root, ignore_errors=True)
    return int(any(found[column] for found in counts.values() for column in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
