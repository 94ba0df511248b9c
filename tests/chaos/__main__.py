"""Disturbs real commands and prints what became of them: `make chaos`, or PYTHONPATH=tests python -m chaos --help.

In a random order: Ctrl-C or SIGTERM ends it after the trial in hand, and the table has something of all kinds.
"""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("FAIRFLAC_PRECISION", "32-true")

from chaos import kills, storage
from chaos.arena import Arena
from chaos.commands import COMMANDS
from chaos.victim import load

# How often each command is killed among a hundred kills: the long ones seldom.
SHARES = {"train": 40, "train and report": 6, "train, model given": 10, "tune": 12, "debias": 6}
SHARES |= {"data get": 8, "cache": 8, "export": 6, "reproduce": 4}


def plan(arguments: argparse.Namespace) -> list[Callable[[Arena], None]]:
    """Every trial, by command."""
    only = arguments.only or list(COMMANDS)
    trials: list[Callable[[Arena], None]] = []
    counts = {"kill -9": arguments.kills, "SIGTERM": arguments.terms, "Ctrl-C": arguments.interrupts}
    for command in only:
        share = SHARES[command] / sum(SHARES[name] for name in only)
        for fault, number in counts.items():
            trials += [partial(kills.kill, command=command, fault=fault)] * round(share * number)
        if command == "reproduce":
            trials += [kills.kill_worker] * arguments.workers
        else:
            trials += [partial(kills.cut_power, command=command)] * round(share * arguments.power)
        if command in storage.COMMANDS:
            faults = arguments.fault or list(storage.KINDS)
            trials += [partial(storage.disturb, fault=fault, command=command) for fault in faults] * arguments.storage
    return trials


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kill -9, over all commands")
    parser.add_argument("--terms", type=int, default=40, help="SIGTERM")
    parser.add_argument("--interrupts", type=int, default=20, help="Ctrl-C")
    parser.add_argument("--power", type=int, default=80, help="power that fails")
    parser.add_argument("--workers", type=int, default=4, help="kill -9 of a worker of reproduce")
    parser.add_argument("--storage", type=int, default=3, help="rounds over all faults of storage")
    parser.add_argument("--only", action="append", choices=COMMANDS, help="these commands; all without it")
    parser.add_argument("--fault", action="append", choices=storage.KINDS, help="these of storage; all without it")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    stop: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: stop.append(number))
    load(module for name in arguments.only or COMMANDS for module in COMMANDS[name].modules)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        arena = Arena(Path(folder).resolve(), arguments.seed)
        trials, tried = plan(arguments), 0
        arena.rng.shuffle(trials)
        while tried < len(trials) and not stop:
            trials[tried](arena)
            tried += 1
    print(f"\nseed {arguments.seed}, {tried} of {len(trials)} trials\n{arena.ledger}")
    return 0 if arena.ledger.sound else 1


if __name__ == "__main__":
    sys.exit(main())
