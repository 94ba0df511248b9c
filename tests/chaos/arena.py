"""Where commands are disturbed: a folder of inputs, one for each trial, and what an undisturbed run left."""

import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos.commands import COMMANDS, difference, make_inputs, results, words_of_finished_run
from chaos.ledger import Ledger
from chaos.operations import Counter, watch
from chaos.victim import Victim, finish, start


@dataclass(frozen=True)
class Reference:
    """An undisturbed run."""

    results: dict[str, str]
    seconds: float
    operations: int  # that changed files
    bytes: int  # that it left


@dataclass
class Trial:
    """One command in a folder of its own."""

    command: str
    words: list[str]
    folder: Path
    aside: Path  # on the same disk, for what is no part of the result
    said: list[Victim] = field(default_factory=list)

    def start(self, prepare: Callable[[], None] | None = None) -> Victim:
        self.said.append(start(self.words, self.folder, self._next, prepare))
        return self.said[-1]

    def finish(self, prepare: Callable[[], None] | None = None) -> Victim:
        self.said.append(finish(self.words, self.folder, self._next, prepare))
        return self.said[-1]

    @property
    def _next(self) -> Path:
        return self.aside / f"said{len(self.said)}"

    @property
    def everything_said(self) -> str:
        return "\n".join(victim.words for victim in self.said)


class Arena:
    """Makes trials and enters them in the ledger."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.rng, self.ledger = root, random.Random(seed), Ledger()
        self.inputs, self.references, self.number = root / "inputs", dict[str, Reference](), 0
        make_inputs(self.inputs)

    def reference(self, command: str) -> Reference:
        """Made when it is first asked for."""
        if command not in self.references:
            counter, folder = Counter(), self._folder(f"reference of {command}")
            begun = time.monotonic()
            made = finish(self._words(command), folder, self.root / "said", lambda: watch(folder, counter))
            assert made.code == 0, made.words
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            self.references[command] = Reference(results(folder), time.monotonic() - begun, counter.count, size)
            shutil.rmtree(folder.parent)
        return self.references[command]

    @contextmanager
    def trial(self, command: str) -> Iterator[Trial]:
        self.reference(command)
        self.number += 1
        folder = self._folder(f"trial {self.number}")
        yield Trial(command, self._words(command), folder, folder.parent)
        shutil.rmtree(folder.parent)

    def judge(self, fault: str, trial: Trial, how: str, prepare: Callable[[], None] | None = None) -> None:
        """The same command again must end well, and leave what an undisturbed one leaves."""
        again = trial.finish(prepare)
        self.enter(fault, trial, how, self.complaint(trial, again))

    def complaint(self, trial: Trial, victim: Victim) -> str:
        """What is wrong with the end of a command that should have ended well."""
        if victim.code != 0:
            return f"ended with code {victim.code}: {victim.last_line}"
        return difference(results(trial.folder), self.reference(trial.command).results)

    def enter(self, fault: str, trial: Trial, how: str, complaint: str) -> None:
        self.ledger.enter(fault, trial.command, how, trial.everything_said, complaint)
        print(f"{time.strftime('%X')}  {fault}, {trial.command}, {how}: {complaint or 'well'}", flush=True)

    def _words(self, command: str) -> list[str]:
        if COMMANDS[command].needs_run and not (self.inputs / "runs").exists():
            made = finish(words_of_finished_run(self.inputs), self.inputs, self.root / "said")
            assert made.code == 0, made.words
        return COMMANDS[command].words(self.inputs)

    def _folder(self, name: str) -> Path:
        folder = self.root / name.replace(" ", "-").replace(",", "") / "work"
        folder.mkdir(parents=True)
        return folder
