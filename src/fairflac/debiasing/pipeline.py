"""The whole way: plan, train, choose, and leave a model with a page and a card.

Which model to keep is decided on validation images, without a single attribute label.
"""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fairflac.config.options import lookup
from fairflac.config.run_config import RunConfig, resolve
from fairflac.config.settings import split_stage_one, without
from fairflac.data.own.groups import guess_confidence
from fairflac.data.own.listing import checked_classes
from fairflac.debiasing.bias_model import SEARCHED, VANILLA, BiasModel, against_groups
from fairflac.debiasing.budget import AGAINST, PRETRAINED, TimeBudget, TrainingSetup
from fairflac.debiasing.choice import (
    SURE,
    ModelChoice,
    SeedResult,
    SeedsChoice,
    balanced_accuracy,
    choose,
    choose_over_seeds,
    summary_over_seeds,
)
from fairflac.debiasing.groups import TrainingGroups, training_groups
from fairflac.debiasing.plan import DebiasPlan, planned
from fairflac.debiasing.request import Request
from fairflac.discovering.pipeline import GROUPS
from fairflac.errors import UserError
from fairflac.exporting.formats import export
from fairflac.metrics.comparison import Change
from fairflac.reporting.checks import alarm_lines, alarms
from fairflac.reporting.naming import Names
from fairflac.reporting.page import write as write_report
from fairflac.runs.directory import CHOICE, Run, Workspace
from fairflac.system.files import check_folder, write_text
from fairflac.system.progress import duration, expect, tell
from fairflac.training.build import load_config, load_split
from fairflac.training.pipeline import bias_label, dry_run, import_run, predict_run, stage_work, train_config

TITLE = "Does the model lean on a shortcut, and did debiasing help?"
GUESSER = "early"  # names groups where the bias model's last layer was never trained on anything


@dataclass(frozen=True)
class DebiasResult:
    """What there is in the end."""

    choice: ModelChoice
    kept: Run
    runs: dict[str, Run]  # by name: vanilla, and those trained against the shortcut; of the kept model's seed
    model: Path
    report: Path
    card: Path
    groups: TrainingGroups  # that were found; without a path where none were, or none were looked for
    took: str  # of the budget
    seeds: tuple[SeedResult, ...] = ()  # all that were trained
    others: tuple[Run, ...] = ()  # runs of other seeds than that of the kept model


def debias(
    request: Request, data: Path, clock: TimeBudget | None = None, *, logger: str = Workspace.logger
) -> DebiasResult:
    """Everything that is there already is taken as it is, so that the same request goes on where it was stopped."""
    clock = clock or TimeBudget(request.budget)
    check_folder(request.output)
    checked_classes(request.listing())
    request.check_groups()
    provisional = DebiasPlan(request.output, "", request.provisional(), {})
    bias = _models(request, provisional, UNKNOWN_GROUPS).bias  # its faults cost no measuring
    bias = replace(bias, work=replace(bias.work, seeds=request.seeds))
    plan = planned(request, clock, bias.work, data)
    workspace = Workspace(request.output / "runs", data, logger=logger)
    if bias.run is not None:
        import_run(bias.run, workspace)
    every = request.each_seed()
    _dry_runs(_models(every[0], plan, UNKNOWN_GROUPS), workspace)
    tell(_announcement(request, plan.size, bias, clock))
    groups = NO_GROUPS
    if request.by_groups:
        plan, groups = _with_groups(request, plan, workspace)
    trained: list[TrainedSeed] = []
    for number, one in enumerate(every):
        schedule = Schedule(one, workspace, clock, seeds=len(every) - number)
        if trained and not schedule.has_time(_models(one, plan, groups).plain, trained[0]):
            tell(f"time is short: {number} of {len(every)} seeds are trained")
            break
        if len(every) > 1:
            tell(f"seed {one.seed}, {number + 1} of {len(every)}")
        plan, runs = _train_seed(one, plan, groups, schedule)
        trained.append(TrainedSeed(one, runs))
    return _leave(request, _seed_results(trained, plan, groups, workspace), trained, plan, groups, clock)


@dataclass(frozen=True)
class TrainedSeed:
    request: Request
    runs: dict[str, Run]  # by name

    @property
    def seconds(self) -> float:
        return sum(float(run.result["seconds"]) for run in self.runs.values())


def _train_seed(
    request: Request, plan: DebiasPlan, groups: TrainingGroups, schedule: "Schedule"
) -> tuple[DebiasPlan, dict[str, Run]]:
    """All models of one seed. How long each is trained the first seed decides for all."""
    workspace, pace = schedule.workspace, plan.size.epoch_seconds
    models = _models(request, plan, groups)
    expect(_work(models, workspace))
    if models.stage_one is not None and models.stage_one.train.epochs:
        pace = _pace(_trained(models.stage_one, workspace, as_bias_model=True), models) or pace
    plan = schedule.decide(plan, VANILLA, models.plain, pace * (1 + AGAINST * len(models.against)))
    runs = {VANILLA: _trained(_models(request, plan, groups).plain, workspace)}
    pace = _pace(runs[VANILLA], models) or pace
    for place, name in enumerate(models.against):
        left = len(models.against) - place
        done = 1 + AGAINST * (len(models.against) - left)  # of this seed; further ones have it before them
        plan = schedule.decide(plan, name, models.against[name], pace * AGAINST * left, again=pace * done)
        runs[name] = _trained(_models(request, plan, groups).against[name], workspace)
    return plan, runs


NO_GROUPS, UNKNOWN_GROUPS = TrainingGroups(None, ""), TrainingGroups(GROUPS, "")  # not searched for, or not yet


def _with_groups(request: Request, plan: DebiasPlan, workspace: Workspace) -> tuple[DebiasPlan, TrainingGroups]:
    """Searched for once: what was found is kept with the plan, as long as its files are there."""
    kept = plan.groups and TrainingGroups(**plan.groups)
    if kept and all(Path(one).is_file() for one in (kept.path, kept.page) if one):
        return plan, kept
    groups = training_groups(request, workspace.data, workspace.runs.resolve())
    return plan.with_groups(groups.as_dict()), groups


@dataclass(frozen=True)
class Models:
    """What is trained, as a plan says."""

    bias: BiasModel
    plain: RunConfig
    against: dict[str, RunConfig]  # by name; none where no shortcut was found

    @property
    def stage_one(self) -> RunConfig | None:
        """Of the one that has a bias model."""
        return next((config.stage_one() for config in self.against.values()), None)


def _models(request: Request, plan: DebiasPlan, groups: TrainingGroups) -> Models:
    shared: dict[str, Any] = request.data_settings()
    own, _ = split_stage_one(request.changes)  # vanilla has none, and an alpha means nothing to it
    if request.by_groups:
        bias, tried = SEARCHED, against_groups(plan.size) if groups.path else {}
        shared |= request.known_columns()
        shared_against = {**shared, "groups": groups.path}
    else:
        bias = request.stage_one(plan.size)
        tried = {bias.method: (bias.method, bias.settings)}
        shared |= {} if bias.columns is None else {"columns": list(bias.columns)}
        shared_against = shared
    against = {}
    for name, (method, settings) in tried.items():
        asked = without(request.changes, set(lookup("method", "flac").options) - set(lookup("method", method).options))
        size = plan.of(name)
        fitted = size.settings_against() if request.by_groups else size.settings()
        chosen = {**settings, **shared_against, **fitted, **asked}
        against[name] = resolve(request.dataset, method, request.seed, chosen)
    plain_changes = without(own, lookup("method", "flac").options)
    plain = resolve(request.dataset, VANILLA, request.seed, {**shared, **plan.of(VANILLA).settings(), **plain_changes})
    return Models(bias, plain, against)


@dataclass(frozen=True)
class Schedule:
    """Looks at the clock when the turn of a model has come."""

    request: Request
    workspace: Workspace
    clock: TimeBudget
    seeds: int = 1  # that are left, this one included

    def decide(self, plan: DebiasPlan, model: str, config: RunConfig, epoch: float, again: float = 0.0) -> DebiasPlan:
        """How many epochs it gets: as planned, or fewer if time is short.

        `epoch`: seconds that an epoch costs, of this model and those after it, which are trained as long; `again`: of
        those before it, which every further seed trains too.
        """
        epoch = self.seeds * epoch + (self.seeds - 1) * again
        planned = plan.of(model).epochs
        if model in plan.epochs or "epochs" in self.request.changes or self.workspace.run(config).done:
            return plan
        epochs = self.clock.affords(epoch, planned)
        if epochs < planned:
            tell(f"time is short: {model} is trained for {epochs} epochs, {planned} were planned")
        return plan.decide(model, epochs)

    def has_time(self, config: RunConfig, before: TrainedSeed) -> bool:
        """For one more seed; one that was begun is finished."""
        return self.workspace.run(config).last.exists() or before.seconds <= self.clock.left


def _work(models: Models, workspace: Workspace) -> dict[str, float]:
    """What is trained, in the order in which it is: a bias model comes first."""
    work = stage_work([models.plain, *models.against.values()], workspace)
    first = models.stage_one and bias_label(models.stage_one)
    return {label: work[label] for label in sorted(work, key=lambda label: label != first)}


def _pace(run: Run, models: Models) -> float | None:
    """Seconds of an epoch, if the run is of the same network and images as the models; counts from any machine."""
    config, plain = load_config(run), models.plain
    if (config.net, config.dataset, config.data_options) != (plain.net, plain.dataset, plain.data_options):
        return None
    seconds: float = run.result["seconds"]
    return seconds / config.train.epochs


def _dry_runs(models: Models, workspace: Workspace) -> None:
    """Before the first model is trained: what would end any of them. Groups are not known yet."""
    dry_run(models.plain, workspace)
    for config in models.against.values():
        if config.bias_model is not None:
            dry_run(config, workspace)
            dry_run(_guesser(config), workspace)
    validation = load_split(models.plain, workspace.data, "validation")
    if validation is None or not len(validation):
        raise UserError("there is no validation image to choose by: add images, or a folder 'val'")


def _trained(config: RunConfig, workspace: Workspace, *, as_bias_model: bool = False) -> Run:
    run = train_config(config, workspace, as_bias_model=as_bias_model)
    assert run is not None  # one process
    return run


def _choice(
    request: Request, runs: dict[str, Run], models: Models, groups: TrainingGroups, workspace: Workspace
) -> ModelChoice:
    if not models.against:
        return ModelChoice(VANILLA, "no evidence", [f"The vanilla model is kept. {groups.says}"], None, {}, {})
    name, against = next(iter(models.against.items()))
    validation = load_split(against, workspace.data, "validation")
    assert validation is not None
    tables = {name: predict_run(run, validation) for name, run in runs.items()}
    pairs = float(runs[name].result["bias_model_quality"].get("pairs", 0.0))
    classes = validation.task.classes
    if validation.guess is not None:
        assert groups.path is not None
        sure = guess_confidence(Path(groups.path), request.listing(), validation.names.tolist()) >= SURE
        choice = choose(
            tables,
            validation.guess,
            pairs,
            guess_is_class=False,
            classes=classes,
            sure=sure,
            believed=groups.page is not None,
        )
        return replace(choice, reasons=[choice.reasons[0], groups.says, *choice.reasons[1:]])
    guesser = _guesser(against)
    guess = predict_run(_trained(guesser, workspace, as_bias_model=True), validation).prediction
    of_classes = (guesser.target, guesser.dataset) == ("class", against.dataset) and _same_images(guesser, against)
    return choose(tables, guess, pairs, guess_is_class=of_classes, classes=classes)


def _guesser(against: RunConfig) -> RunConfig:
    """The bias model itself; or, if that is a weight file whose last layer may mean anything, one like the default."""
    stage_one = against.stage_one()
    assert stage_one is not None
    if stage_one.train.epochs:
        return stage_one
    shared = {"net": against.net, **against.data_options, **against.net_options, "epochs": against.train.epochs}
    shared |= {"batch_size": against.train.batch_size, "bias_model.kind": GUESSER}
    early = resolve(against.dataset, "flac-b", against.seed, shared).stage_one()
    assert early is not None
    return early


def _same_images(one: RunConfig, other: RunConfig) -> bool:
    return bool(one.data_options.get("path") == other.data_options.get("path"))


def _announcement(request: Request, size: TrainingSetup, bias: BiasModel, clock: TimeBudget) -> str:
    seconds = size.seconds(bias.work) + clock.spent
    time = duration(seconds) if clock.budget is None else f"{duration(seconds)} of {duration(clock.budget)}"
    first = f"Bias model, which comes first: {bias.says}"
    if request.by_groups:
        given = request.given_groups()
        first = f"The shortcut, which comes first: {bias.says}" if given is None else f"Groups: {given.named}"
    return (
        f"{request.path}: {size.net}{_start(size)} on images of {size.size} pixels, {size.epochs} epochs, batches of "
        f"{size.batch_size}; about {time} in all. {first}."
    )


def _start(size: TrainingSetup) -> str:
    if size.net not in PRETRAINED:
        return ""
    if size.pretrained:
        return ", from ImageNet weights,"
    return ", from scratch (better: fairflac data get imagenet-weights),"


def _seed_results(
    trained: list[TrainedSeed], plan: DebiasPlan, groups: TrainingGroups, workspace: Workspace
) -> list[SeedResult]:
    results = []
    for request, runs in ((one.request, one.runs) for one in trained):
        models = _models(request, plan, groups)
        choice = _choice(request, runs, models, groups, workspace)
        scores = {name: gain.second for name, gain in choice.gains.items()}
        scores |= dict.fromkeys([VANILLA], next(iter(choice.gains.values())).first) if scores else {}
        if not scores and len(trained) > 1:
            validation = load_split(models.plain, workspace.data, "validation")
            assert validation is not None
            scores = {name: balanced_accuracy(predict_run(run, validation)) for name, run in runs.items()}
        test = {name: float(run.result["test"]["accuracy"]) for name, run in runs.items()}
        results.append(SeedResult(request.seed, choice, scores, test))
    return results


def _leave(
    request: Request,
    results: list[SeedResult],
    trained: list[TrainedSeed],
    plan: DebiasPlan,
    groups: TrainingGroups,
    clock: TimeBudget,
) -> DebiasResult:
    output, choice, number = request.output, results[0].choice, 0
    over = choose_over_seeds(results) if len(results) > 1 else None
    if over is not None:
        number = [one.seed for one in results].index(over.seed)
        choice = replace(results[number].choice, kept=over.kept, reasons=over.reasons)
    if len(results) < request.seeds:
        short = f"Time was short: {len(results)} of {request.seeds} seeds were trained."
        choice = replace(choice, reasons=[choice.reasons[0], short, *choice.reasons[1:]])
    runs = trained[number].runs
    others = [run for place, one in enumerate(trained) if place != number for run in one.runs.values()]
    kept = runs[choice.kept]
    exported = export(kept, "safetensors", output / "model.safetensors")  # with its card
    report = output / "report.html"
    write_report([*runs.values(), *others], report, TITLE, foreword=choice.reasons)
    record = {
        "kept": choice.kept,
        "run": os.path.relpath(kept.path, output),  # so that the folder may be moved
        "verdict": choice.verdict,
        "alarms": result_alarms(runs),
        "reasons": choice.reasons,
        "lean": choice.lean and {name: value._asdict() for name, value in choice.lean._asdict().items()},
        "gains": {name: gain._asdict() for name, gain in choice.gains.items()},
        "clearly_worse": {name: [_change(one, kept) for one in lost] for name, lost in choice.worse.items()},
        "groups": groups.as_dict(),
        "plan": {**asdict(plan.size), "epochs_by_model": plan.epochs},
        "budget": clock.budget,
        "seconds": round(clock.spent, 1),
    }
    record |= {} if over is None else {"seeds": _seeds_record(over, results, trained, output)}
    write_text(output / CHOICE, json.dumps(record, indent=1))
    files = (exported.file, report, exported.card)
    return DebiasResult(choice, kept, runs, *files, groups, str(clock), tuple(results), tuple(others))


def _seeds_record(
    over: SeedsChoice, results: list[SeedResult], trained: list[TrainedSeed], output: Path
) -> dict[str, Any]:
    """Every number of every seed; `validation`: all groups, or classes, counting alike."""
    names = list(trained[0].runs)
    each = [
        {
            "seed": one.seed,
            "would_keep": one.choice.kept,
            "verdict": one.choice.verdict,
            "validation": one.scores,
            "test_accuracy": one.test,
            "runs": {name: os.path.relpath(run.path, output) for name, run in seed.runs.items()},
        }
        for one, seed in zip(results, trained, strict=True)
    ]
    return {
        "kept": over.seed,
        "votes": over.votes,
        "validation": {name: summary_over_seeds([one.scores[name] for one in results]) for name in names},
        "test_accuracy": {name: summary_over_seeds([one.test[name] for one in results]) for name in names},
        "each": each,
    }


def result_alarms(runs: dict[str, Run]) -> list[str]:
    """What is said of the runs before everything else."""
    said = alarm_lines(alarm for name, run in runs.items() for alarm in alarms(run, name))
    return ["\n  ".join(lines) for lines in said]


def _change(one: Change, run: Run) -> dict[str, Any]:
    name = Names.of(run.result).of_class(one.label)
    return {"class": name, "before": one.before, "after": one.after, "difference": one.difference._asdict()}
