"""The search itself: propose, train, judge, write down, from wherever it stands; its result as text and as JSON."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from fairflac.config.run_config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.errors import Diverged, UserError
from fairflac.metrics.evidence import NAME, with_guess, with_pseudo_groups
from fairflac.metrics.scores import UNKNOWN, percent
from fairflac.metrics.selection import GUESSED, ORACLE, VALIDATION_RULES
from fairflac.reporting.provenance import written
from fairflac.reporting.results import rows
from fairflac.reporting.text import as_text as results
from fairflac.runs.directory import Run, Workspace
from fairflac.system.files import write_text
from fairflac.system.parse import parse_json
from fairflac.system.progress import tell
from fairflac.system.tables import text_table
from fairflac.training.build import load_split
from fairflac.training.pipeline import dry_run, predict_run, train_config
from fairflac.tuning.space import SearchPlan, Settings, describe, propose, size


@dataclass(frozen=True)
class Judge:
    """One validation split and one rule for all trials."""

    rule: str
    data: BiasedDataset
    guess: np.ndarray | None  # (N,) the class that a bias model names, for the rule that needs it
    against: int | None  # images whose guess does not go with their class: these decide
    cache: Path | None = None  # of embeddings

    def score(self, run: Run) -> float:
        table = predict_run(run, self.data, cache=self.cache)
        if not self.rule.startswith(ORACLE):
            table = table.without_labels()
        return VALIDATION_RULES[self.rule](table if self.guess is None else with_guess(table, self.guess))


def make_judge(rule: str, config: RunConfig, guesser: RunConfig, workspace: Workspace) -> Judge:
    """For runs of the data of `config`. `guesser` is trained if the rule asks for it, as a run like any other."""
    data = load_split(config, workspace.data, "validation")
    if data is None or not len(data):
        raise UserError(f"{config.dataset} has no validation data here, and a search cannot do without")
    if rule.startswith(ORACLE) and not data.bias:
        raise UserError(f"the rule {rule} needs attribute labels, and {config.dataset} has none for this target")
    cache = workspace.data / "cache"
    if rule != GUESSED:
        return Judge(rule, data, None, None, cache)
    run = train_config(guesser, workspace, as_bias_model=True)
    assert run is not None  # one process
    table = predict_run(run, data, cache=cache).without_labels()
    pseudo = with_pseudo_groups(with_guess(table, table.prediction))
    assert pseudo is not None
    return Judge(rule, data, table.prediction, int(np.sum(~pseudo.aligned[NAME])), cache)


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and what the rule says of them."""

    settings: Settings
    value: float | None  # None: training diverged
    run: str  # folder below that of all runs
    seconds: float | None  # of training


@dataclass(frozen=True)
class TuneResult:
    """A finished search."""

    plan: SearchPlan
    judge: Judge
    trials: list[Trial]
    best: Trial
    run: Run  # of the best


def tune(plan: SearchPlan, workspace: Workspace, number: int) -> TuneResult:
    """`number` trials, or as many as there are different settings. What is on record or trained is not repeated."""
    dry_run(plan.base, workspace)
    tell(f"tune {plan.method} on {plan.dataset}: {describe(plan.space)}; rule {plan.rule}")
    judge = make_judge(plan.rule, plan.base, plan.guesser, workspace)
    record = Record(workspace.runs / plan.dataset / plan.method / f"tune-{plan.id}.json", plan)
    trials, number = record.read()[:number], int(min(number, size(plan.space)))
    while len(trials) < number:
        trials.append(_attempt(plan, workspace, judge, _next(plan, trials)))
        record.write(trials)
        tell(_progress(plan, trials, number))
    best = best_of(trials)
    if best is None:
        raise UserError(f"all {len(trials)} trainings diverged: lower lr, or the range of what is searched")
    run = train_config(plan.config(best.settings), workspace)
    assert run is not None  # one process
    return TuneResult(plan, judge, trials, best, run)


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """The highest value; of equal ones the first."""
    return max((trial for trial in trials if trial.value is not None), key=lambda trial: trial.value or 0, default=None)


def _next(plan: SearchPlan, trials: Sequence[Trial]) -> Settings:
    if not trials and plan.start is not None:
        return plan.start
    # To diverge is as bad as to be never right; optuna would forget a trial without a value, and go there again.
    return propose(plan.space, [(trial.settings, trial.value or 0.0) for trial in trials], plan.seed)


def _attempt(plan: SearchPlan, workspace: Workspace, judge: Judge, settings: Settings) -> Trial:
    config = plan.config(settings)
    try:
        run = train_config(config, workspace)
    except Diverged as error:
        tell(str(error))
        return Trial(settings, None, config.folder, None)
    assert run is not None  # one process
    return Trial(settings, judge.score(run), config.folder, run.result["seconds"])


def settings_text(settings: Settings) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def _progress(plan: SearchPlan, trials: Sequence[Trial], number: int) -> str:
    last, best = trials[-1], best_of(trials)
    value = "diverged" if last.value is None else f"{last.value:.1%}"
    line = f"trial {len(trials)} of {number}: {settings_text(last.settings)}: {value}"
    if best is not None:
        line += f" (best: {settings_text(best.settings)}, {best.value:.1%})"
    times = [trial.seconds for trial in trials if trial.seconds is not None]
    return f"{line}, about {fmean(times) * (number - len(trials)):.0f} s left" if times else line


@dataclass(frozen=True)
class Record:
    """The file that a search is written down in, beside its runs: always whole, whenever the process dies."""

    path: Path
    plan: SearchPlan

    def read(self) -> list[Trial]:
        try:
            return [Trial(**trial) for trial in parse_json(self.path.read_text())["trials"]]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"'{self.path}' is damaged: delete it; runs that are done are not trained again") from error

    def write(self, trials: Sequence[Trial]) -> None:
        plan = self.plan
        search = {"dataset": plan.dataset, "method": plan.method, "seed": plan.seed, "changes": plan.changes}
        search |= {"searched": describe(plan.space), "rule": plan.rule}
        content = {"search": search, "trials": [asdict(trial) for trial in trials]}
        write_text(self.path, json.dumps(content, indent=1))


FEW = 100  # images: the standard error of a share of them is up to 5 points


def train_command(found: TuneResult, *places: str) -> str:
    """The command that trains the best settings, or finds them trained; `places` are further words of it."""
    plan = found.plan
    words = ["fairflac", "train", plan.dataset, plan.method, "--seed", str(plan.seed), *places]
    for key, value in plan.settings(found.best.settings).items():
        words += ["--set", f"{key}={written(value)}"]
    return shlex.join(words)


def as_text(found: TuneResult, command: str) -> str:
    """All trials by validation; then, and apart from them, what the chosen one does on the test split."""
    n, rule, test = len(found.judge.data), found.plan.rule, rows([found.run])
    parts = [text_table(_lines(found)), f"* best by {rule} on {n} validation images{_deciding(found)}"]
    if test:  # a bias model has none
        parts += ["", "Test split, which no choice has seen, of the chosen run alone:", results(test)]
    return "\n".join([*parts, f"run: {found.run.path}", f"train: {command}"])


def as_json(found: TuneResult, command: str) -> str:
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


def _lines(found: TuneResult) -> Sequence[Sequence[str]]:
    keys = list(found.plan.space)
    head = ["trial", *keys, found.plan.rule, "n", "seconds", "run"]
    return [head, *(_line(found, number, trial, keys) for number, trial in enumerate(found.trials, start=1))]


def _line(found: TuneResult, number: int, trial: Trial, keys: Sequence[str]) -> list[str]:
    mark = " *" if trial is found.best else ""
    seconds = UNKNOWN if trial.seconds is None else f"{trial.seconds:.1f}"
    value = "diverged" if trial.value is None else percent(trial.value)
    chosen = [written(trial.settings[key]) for key in keys]
    return [f"{number}{mark}", *chosen, value, str(len(found.judge.data)), seconds, trial.run]


def _deciding(found: TuneResult) -> str:
    """How little a rule may rest on."""
    if found.judge.against is None:
        return ""
    few = ": few, so close values may be luck" if found.judge.against < FEW else ""
    return f", {found.judge.against} of them with a guess that does not go with their class{few}"
