"""A finished search, as text for a terminal and as JSON for programs."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fairflac.metrics.scores import UNKNOWN, percent
from fairflac.reporting.sections.provenance import written
from fairflac.reporting.text.tables import aligned, rows
from fairflac.reporting.text.tables import as_text as results

if TYPE_CHECKING:  # reports never import what trains
    from fairflac.tuning.study import Found, Trial

FEW = 100  # images: the standard error of a share of them is up to 5 points


def train_command(found: "Found", *places: str) -> str:
    """The command that trains the best settings, or finds them trained; `places` are further words of it."""
    plan = found.plan
    words = ["fairflac", "train", plan.dataset, plan.method, "--seed", str(plan.seed), *places]
    for key, value in plan.settings(found.best.settings).items():
        words += ["--set", f"{key}={written(value)}"]
    return shlex.join(words)


def as_text(found: "Found", command: str) -> str:
    """All trials by validation; then, and apart from them, what the chosen one does on the test split."""
    n, rule, test = len(found.judge.data), found.plan.rule, rows([found.run])
    parts = [aligned(_lines(found)), f"* best by {rule} on {n} validation images{_deciding(found)}"]
    if test:  # a bias model has none
        parts += ["", "Test split, which no choice has seen, of the chosen run alone:", results(test)]
    return "\n".join([*parts, f"run: {found.run.path}", f"train: {command}"])


def as_json(found: "Found", command: str) -> str:
    plan, judge = found.plan, found.judge
    content: dict[str, Any] = {
        "dataset": plan.dataset,
        "method": plan.method,
        "seed": plan.seed,
        "rule": plan.rule,
        "n": len(judge.data),
        "against_the_guess": judge.against,
        "searched": {key: str(dimension) for key, dimension in plan.space.items()},
        "trials": [asdict(trial) for trial in found.trials],
        "best": {**asdict(found.best), "run": str(found.run.path), "command": command},
        "test": [asdict(row) for row in rows([found.run])],
    }
    return json.dumps(content, indent=1, allow_nan=False)


def _lines(found: "Found") -> Sequence[Sequence[str]]:
    keys = list(found.plan.space)
    head = ["trial", *keys, found.plan.rule, "n", "seconds", "run"]
    return [head, *(_line(found, number, trial, keys) for number, trial in enumerate(found.trials, start=1))]


def _line(found: "Found", number: int, trial: "Trial", keys: Sequence[str]) -> list[str]:
    mark = " *" if trial is found.best else ""
    seconds = UNKNOWN if trial.seconds is None else f"{trial.seconds:.1f}"
    value = "diverged" if trial.value is None else percent(trial.value)
    chosen = [written(trial.settings[key]) for key in keys]
    return [f"{number}{mark}", *chosen, value, str(len(found.judge.data)), seconds, trial.run]


def _deciding(found: "Found") -> str:
    """How little a rule may rest on."""
    if found.judge.against is None:
        return ""
    few = ": few, so close values may be luck" if found.judge.against < FEW else ""
    return f", {found.judge.against} of them with a guess that does not go with their class{few}"
