"""Signals at random moments of the clock or of the disk, and power that fails: the same command goes on."""

import json
import os
import signal
import time
import tomllib
from pathlib import Path

from chaos.arena import Arena, Trial
from chaos.operations import Counter, watch
from chaos.power import Recorder, fail, names, states
from chaos.victim import Victim
from fairflac.runs.directory import Run, share_trained

SIGNALS = {"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "Ctrl-C": signal.SIGINT}
ENDS = {"kill -9": (-9,), "SIGTERM": (-15, 130), "Ctrl-C": (-2, 130)}  # codes that say that it was heard


def kill(arena: Arena, command: str, fault: str) -> None:
    """At a moment of the clock, or right before one of its operations on files, each in half of the trials."""
    with arena.trial(command) as trial:
        victim = _signalled(arena, trial, SIGNALS[fault])
        if victim.code == 0:  # it was done before its moment came
            return kill(arena, command, fault)
        where = stage(trial.folder)
        if victim.code in ENDS[fault]:
            arena.judge(fault, trial, where)
        else:
            arena.enter(fault, trial, where, f"ended with code {victim.code}: {victim.last_line}")


def _signalled(arena: Arena, trial: Trial, number: signal.Signals) -> Victim:
    """Ended, by the signal or, if it came too late, by itself."""
    reference, share = arena.reference(trial.command), arena.rng.random()
    if arena.rng.random() < 0.5:
        victim = trial.start()
        victim.wait_until(share * reference.seconds)
        victim.kill(number)
    else:
        counter = Counter(1 + int(share * reference.operations), lambda: os.kill(os.getpid(), number))
        victim = trial.start(lambda: watch(trial.folder, counter))
    if victim.wait() is None:  # it hangs; the code will tell
        victim.kill()
        victim.wait()
    return victim


def stage(folder: Path) -> str:
    """What a command was at when it ended, by what it left."""
    if any(folder.rglob(".last.pt.*")) or any(folder.rglob(".best.pt.*")):
        return "in a checkpoint"
    if any(folder.rglob(".report.html.*")):
        return "in the report"
    runs = sorted(path.parent for path in folder.rglob("config.toml"))
    for run in runs:
        if not (run / "done").exists():
            epochs = tomllib.loads((run / "config.toml").read_text())["train"]["epochs"]
            part = "evaluation" if share_trained(Run(run), epochs) == 1 else "training"
            return f"in the {part} of {run.parent.name}"
    return "after training" if runs else "before training"


def kill_worker(arena: Arena, command: str = "reproduce") -> None:
    """The command itself goes on with another worker, and nobody has to call it again."""
    fault = "kill -9 of a worker"
    with arena.trial(command) as trial:
        victim = trial.start()
        moment, killed = arena.rng.random() * arena.reference(command).seconds, ""
        while victim.wait(0.05) is None and not killed:
            if time.monotonic() - victim.began < moment:
                continue
            for owner in trial.folder.rglob("owner.json"):
                killed = killed or _kill_owner(owner)
        victim.wait()
        if killed:
            arena.enter(fault, trial, killed, arena.complaint(trial, victim))


def _kill_owner(owner: Path) -> str:
    try:
        os.kill(json.loads(owner.read_text())["pid"], signal.SIGKILL)
    except (OSError, ValueError):
        return ""
    return f"worker of {owner.parent.parent.name}"


def cut_power(arena: Arena, command: str) -> None:
    """At one of its operations on files, or when it has said that all is done: then nothing may be lost at all."""
    reference = arena.reference(command)
    with arena.trial(command) as trial:
        at = arena.rng.randint(1, reference.operations + reference.operations // 8)
        victim = lose_power(arena, trial, at)
        if victim.code == 0:
            arena.enter("power lost after the end", trial, "at rest", arena.complaint(trial, victim))
        else:
            arena.judge("power lost", trial, stage(trial.folder))


def lose_power(arena: Arena, trial: Trial, at: int) -> Victim:
    """Run the command until its operation number `at`, or to its end, and take away what the disk does not hold."""
    before, there = states(trial.folder), names(trial.folder)
    counter = Counter(at, lambda: os.kill(os.getpid(), signal.SIGKILL))
    victim = trial.finish(lambda: watch(trial.folder, Recorder(trial.folder, trial.aside, counter)))
    fail(trial.folder, trial.aside, before, there, arena.rng)
    return victim
