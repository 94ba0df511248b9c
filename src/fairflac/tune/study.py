"""The search itself: propose, train, judge, write down; and again from wherever it stands."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from fairflac.errors import Diverged, UserError
from fairflac.files import write_text
from fairflac.progress import tell
from fairflac.runs import Run
from fairflac.train import Place, rehearse, train
from fairflac.tune.judge import Judge, make_judge
from fairflac.tune.plan import Plan
from fairflac.tune.sampler import Settings, propose
from fairflac.tune.space import describe, size


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and what the rule says of them."""

    settings: Settings
    value: float | None  # None: training diverged
    run: str  # folder below that of all runs
    seconds: float | None  # of training


@dataclass(frozen=True)
class Found:
    """A finished search."""

    plan: Plan
    judge: Judge
    trials: list[Trial]
    best: Trial
    run: Run  # of the best


def tune(plan: Plan, place: Place, number: int) -> Found:
    """`number` trials, or as many as there are different settings. What is on record or trained is not repeated."""
    rehearse(plan.base, place)
    tell(f"tune {plan.method} on {plan.dataset}: {describe(plan.space)}; rule {plan.rule}")
    judge = make_judge(plan.rule, plan.base, plan.guesser, place)
    record = Record(place.runs / plan.dataset / plan.method / f"tune-{plan.id}.json", plan)
    trials, number = record.read()[:number], int(min(number, size(plan.space)))
    while len(trials) < number:
        trials.append(_attempt(plan, place, judge, _next(plan, trials)))
        record.write(trials)
        tell(_progress(plan, trials, number))
    best = best_of(trials)
    if best is None:
        raise UserError(f"all {len(trials)} trainings diverged: lower lr, or the range of what is searched")
    run = train(plan.config(best.settings), place)
    assert run is not None  # one process
    return Found(plan, judge, trials, best, run)


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """The highest value; of equal ones the first."""
    return max((trial for trial in trials if trial.value is not None), key=lambda trial: trial.value or 0, default=None)


def _next(plan: Plan, trials: Sequence[Trial]) -> Settings:
    if not trials and plan.start is not None:
        return plan.start
    # To diverge is as bad as to be never right; optuna would forget a trial without a value, and go there again.
    return propose(plan.space, [(trial.settings, trial.value or 0.0) for trial in trials], plan.seed)


def _attempt(plan: Plan, place: Place, judge: Judge, settings: Settings) -> Trial:
    config = plan.config(settings)
    try:
        run = train(config, place)
    except Diverged as error:
        tell(str(error))
        return Trial(settings, None, config.folder, None)
    assert run is not None  # one process
    return Trial(settings, judge.score(run), config.folder, run.result["seconds"])


def written(settings: Settings) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def _progress(plan: Plan, trials: Sequence[Trial], number: int) -> str:
    last, best = trials[-1], best_of(trials)
    value = "diverged" if last.value is None else f"{last.value:.1%}"
    line = f"trial {len(trials)} of {number}: {written(last.settings)}: {value}"
    if best is not None:
        line += f" (best: {written(best.settings)}, {best.value:.1%})"
    times = [trial.seconds for trial in trials if trial.seconds is not None]
    return f"{line}, about {fmean(times) * (number - len(trials)):.0f} s left" if times else line


@dataclass(frozen=True)
class Record:
    """The file that a search is written down in, beside its runs: always whole, whenever the process dies."""

    path: Path
    plan: Plan

    def read(self) -> list[Trial]:
        try:
            return [Trial(**trial) for trial in json.loads(self.path.read_text())["trials"]]
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
