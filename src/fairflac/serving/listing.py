"""What there is to see: every run below a folder, what state it is in, and its numbers."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from fairflac.errors import UserError
from fairflac.metrics.scores import ACCURACIES, UNKNOWN, percent
from fairflac.reporting.naming import is_result, title_of, told_apart
from fairflac.reporting.results import rows
from fairflac.runs.directory import CONFIG, Run
from fairflac.system.progress import duration

State = Literal["running", "finished", "stopped", "damaged"]
LONGEST = 240  # letters of settings below a name, some lines
ORDER: tuple[State, ...] = ("running", "finished", "stopped", "damaged")


@dataclass(frozen=True)
class RunLine:
    """One run, as the list shows it."""

    run: Run
    place: str  # below the folder that is shown
    state: State
    since: float  # when it was last written to, in seconds since 1970
    method: str = UNKNOWN
    data: str = UNKNOWN
    role: str = "result"  # or which bias model
    seed: int | None = None
    epochs: int = 0  # planned
    history: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[str, float | None] = field(default_factory=dict)  # accuracies on test images, by name
    seconds: float | None = None  # of training
    config: dict[str, Any] = field(default_factory=dict)
    settings: str = ""  # that tell it from others of its method on the same data
    problem: str = ""  # of one that cannot be read

    @property
    def address(self) -> str:
        """Its place as a part of a web address: whatever the folders are called, plain letters."""
        return quote(os.fsencode(self.place))

    @property
    def short(self) -> str:
        """Its place without what stands beside it anyway."""
        folder, _, name = self.place.rpartition("/")
        return "/".join([*folder.split("/")[:-2], name]) if folder.endswith(f"/{self.method}") else self.place

    @property
    def comparable(self) -> bool:
        """A page can be made of it."""
        return self.state == "finished" and self.role == "result"

    @property
    def done(self) -> int:
        """Finished epochs."""
        return len(self.history)

    @property
    def left(self) -> str:
        """The time that its other epochs take, if they take as long."""
        if self.state != "running" or not self.done or not self.seconds:
            return ""
        return duration(self.seconds / self.done * (self.epochs - self.done))

    @cached_property
    def cells(self) -> dict[str, str]:
        """The numbers as people see them."""
        return {name: percent(self.numbers.get(name)) for name in ACCURACIES}


class Catalogue:
    """All runs of a folder. What a finished run says is read once: it does not change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._finished: dict[tuple[Path, int], RunLine] = {}

    def lines(self) -> list[RunLine]:
        """What runs now comes first, then the latest."""
        found = _apart([self._line(path) for path in run_folders(self.root)])
        return sorted(found, key=lambda one: (one.state != "running", -one.since, one.place))

    def find(self, address: str) -> RunLine | None:
        """By its address. Nothing is looked up on disk by what a browser asks for."""
        paths = {_line_place(self.root, path): path for path in run_folders(self.root)}
        path = next((path for place, path in paths.items() if quote(os.fsencode(place)) == address), None)
        return None if path is None else self._line(path)

    def _line(self, path: Path) -> RunLine:
        run = Run(path)
        try:
            stamp = (path / "done").stat().st_mtime_ns
        except OSError:
            return self._read(run, "running" if run.holder else "stopped")
        kept = self._finished.get((path, stamp))
        if kept is None:
            kept = self._finished[path, stamp] = self._read(run, "finished")
        return kept if run.holder is None else replace(kept, state="running")  # --restart has begun

    def _read(self, run: Run, state: State) -> RunLine:
        line = RunLine(run, _line_place(self.root, run.path), state, _touched(run))
        try:
            return _filled(line)
        except (UserError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            said = str(error) if isinstance(error, UserError) else f"{CONFIG} or result.json lacks what a run has"
            return replace(line, state="damaged", problem=said)


def _apart(lines: list[RunLine]) -> list[RunLine]:
    """With what tells runs of one method from each other; seeds stand in a column of their own."""
    kinds: dict[tuple[str, str, str], dict[str, list[RunLine]]] = {}
    for line in lines:
        if line.state != "damaged":
            run_id = line.run.path.name.rpartition("-s")[0]
            kinds.setdefault((line.method, line.data, line.role), {}).setdefault(run_id, []).append(line)
    told: dict[Path, str] = {}
    for runs in kinds.values():
        said = told_apart([members[0].config for members in runs.values()], LONGEST) if len(runs) > 1 else None
        for members, words in zip(runs.values(), said or [""] * len(runs), strict=True):
            told |= {line.run.path: words for line in members}
    return [replace(line, settings=told.get(line.run.path, "")) for line in lines]


def run_folders(root: Path) -> Iterator[Path]:
    """Every folder below that holds a run, in the order of names; not behind links, and not in hidden folders."""
    for folder, names, files in os.walk(root):
        if CONFIG in files:
            yield Path(folder)
            names.clear()
        names[:] = sorted(name for name in names if not name.startswith("."))


def _line_place(root: Path, path: Path) -> str:
    """Of a folder that is a run itself: its name."""
    return path.relative_to(root).as_posix() if path != root else root.resolve().name


def _touched(run: Run) -> float:
    try:
        done = run.path / "done"
        return done.stat().st_mtime if done.exists() else run.touched
    except OSError:
        return 0.0


def _filled(line: RunLine) -> RunLine:
    run, config = line.run, line.run.config
    history = run.history if (run.path / "metrics.jsonl").exists() else []
    finished = line.state == "finished"
    seconds = run.result["seconds"] if finished else history[-1]["seconds"] if history else None
    numbers = {}
    if finished and is_result(run):
        (row,) = rows([run])
        numbers = {name: getattr(row, name) for name in ACCURACIES}
    elif finished:
        numbers = {"accuracy": run.result["test"]["accuracy"]}
    return replace(
        line,
        method=str(config["method"]),
        data=title_of(config),
        role="result" if is_result(run) else f"bias model ({config['target']})",
        seed=int(config["seed"]),
        epochs=int(config.get("train", {}).get("epochs", 0)),
        history=history,
        config=config,
        numbers=numbers,
        seconds=None if seconds is None else float(seconds),
    )
