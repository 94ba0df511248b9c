"""The whole way: plan, train, choose, and leave a model with a page and a card."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairflac.config.names import known
from fairflac.config.run_config import RunConfig, resolve
from fairflac.config.settings import split_stage_one, without
from fairflac.data.own.listing import checked_classes
from fairflac.debiasing.choice import VANILLA, Choice, choose
from fairflac.debiasing.clock import Clock, minutes
from fairflac.debiasing.plan import AGAINST, BiasModel, Plan, Request, Size, planned
from fairflac.errors import UserError
from fairflac.exporting.write import export
from fairflac.metrics.classes import Change
from fairflac.reporting.naming import Names
from fairflac.reporting.page.render import write as write_report
from fairflac.reporting.sections.alarms import alarms, sentences
from fairflac.runs.directory import CHOICE, Run, Workspace
from fairflac.system.files import check_folder, write_text
from fairflac.system.progress import tell
from fairflac.training.build import load_config, load_split
from fairflac.training.pipeline import dry_run, import_run, predict_run, train_config

TITLE = "Does the model lean on a shortcut, and did debiasing help?"
GUESSER = "early"  # names groups where the bias model's last layer was never trained on anything


@dataclass(frozen=True)
class Outcome:
    """What there is in the end."""

    choice: Choice
    kept: Run
    runs: dict[str, Run]  # by name: vanilla, and the one trained against the shortcut
    model: Path
    report: Path
    card: Path
    took: str  # of the budget


def debias(request: Request, data: Path, clock: Clock | None = None) -> Outcome:
    """Everything that is there already is taken as it is, so that the same request goes on where it was stopped."""
    clock = clock or Clock(request.budget)
    check_folder(request.output)
    checked_classes(request.listing())
    bias = _models(request, Plan(request.output, "", request.provisional(), {})).bias  # its faults cost no measuring
    plan = planned(request, clock, bias.work)
    workspace = Workspace(request.output / "runs", data)
    if bias.run is not None:
        import_run(bias.run, workspace)
    models = _models(request, plan)
    _rehearse(models, workspace)
    tell(_announcement(request, plan.size, models.bias, clock))
    pace = plan.size.epoch_seconds
    if models.stage_one.train.epochs:
        pace = _pace(_trained(models.stage_one, workspace, as_bias_model=True), models) or pace
    schedule = Schedule(request, workspace, clock)
    plan = schedule.decide(plan, models.plain, pace * (1 + AGAINST))
    runs = {VANILLA: _trained(_models(request, plan).plain, workspace)}
    pace = _pace(runs[VANILLA], models) or pace
    plan = schedule.decide(plan, models.against, pace * AGAINST)
    models = _models(request, plan)
    runs[models.against.method] = _trained(models.against, workspace)
    choice = _choice(runs, models.against, workspace)
    return _leave(request, choice, runs, plan, clock)


@dataclass(frozen=True)
class Models:
    """What is trained, as a plan says."""

    bias: BiasModel
    plain: RunConfig
    against: RunConfig

    @property
    def stage_one(self) -> RunConfig:
        found = self.against.stage_one()
        assert found is not None
        return found


def _models(request: Request, plan: Plan) -> Models:
    bias = request.stage_one(plan.size)
    shared: dict[str, Any] = request.data_settings()
    if bias.columns is not None:
        shared["columns"] = list(bias.columns)
    settings = {**bias.settings, **shared, **plan.of(bias.method).settings(), **request.changes}
    against = resolve(request.dataset, bias.method, request.seed, settings)
    own, _ = split_stage_one(request.changes)  # vanilla has none, and an alpha means nothing to it
    own = without(own, known("method", bias.method).options)
    plain = resolve(request.dataset, VANILLA, request.seed, {**shared, **plan.of(VANILLA).settings(), **own})
    return Models(bias, plain, against)


@dataclass(frozen=True)
class Schedule:
    """Looks at the clock when the turn of a model has come."""

    request: Request
    workspace: Workspace
    clock: Clock

    def decide(self, plan: Plan, config: RunConfig, epoch: float) -> Plan:
        """How many epochs it gets: as planned, or fewer if time is short; `epoch`: seconds that each one costs."""
        model, planned = config.method, plan.of(config.method).epochs
        if model in plan.epochs or "epochs" in self.request.changes or self.workspace.run(config).done:
            return plan
        epochs = self.clock.affords(epoch, planned)
        if epochs < planned:
            tell(f"time is short: {model} is trained for {epochs} epochs, {planned} were planned")
        return plan.decide(model, epochs)


def _pace(run: Run, models: Models) -> float | None:
    """Seconds of an epoch, if the run is of the same network and images as the models; counts from any machine."""
    config, plain = load_config(run), models.plain
    if (config.net, config.dataset, config.data_options) != (plain.net, plain.dataset, plain.data_options):
        return None
    seconds: float = run.result["seconds"]
    return seconds / config.train.epochs


def _rehearse(models: Models, workspace: Workspace) -> None:
    """Before the first model is trained: what would end any of them."""
    for config in (models.plain, models.against, _guesser(models.against)):
        dry_run(config, workspace)
    validation = load_split(models.against, workspace.data, "validation")
    if validation is None or not len(validation):
        raise UserError("there is no validation image to choose by: add images, or a folder 'val'")


def _trained(config: RunConfig, workspace: Workspace, *, as_bias_model: bool = False) -> Run:
    run = train_config(config, workspace, as_bias_model=as_bias_model)
    assert run is not None  # one process
    return run


def _choice(runs: dict[str, Run], against: RunConfig, workspace: Workspace) -> Choice:
    validation = load_split(against, workspace.data, "validation")
    assert validation is not None
    guesser = _guesser(against)
    guess = predict_run(_trained(guesser, workspace, as_bias_model=True), validation).prediction
    tables = {name: predict_run(run, validation) for name, run in runs.items()}
    pairs = float(runs[against.method].result["bias_model_quality"].get("pairs", 0.0))
    of_classes = (guesser.target, guesser.dataset) == ("class", against.dataset) and _same_images(guesser, against)
    return choose(tables, guess, pairs, guess_is_class=of_classes, classes=validation.task.classes)


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


def _announcement(request: Request, size: Size, bias: BiasModel, clock: Clock) -> str:
    seconds = size.seconds(bias.work) + clock.spent
    time = minutes(seconds) if clock.budget is None else f"{minutes(seconds)} of {minutes(clock.budget)}"
    return (
        f"{request.path}: {size.net} on images of {size.size} pixels, {size.epochs} epochs, batches of "
        f"{size.batch_size}; about {time} in all. Bias model, which comes first: {bias.says}."
    )


def _leave(request: Request, choice: Choice, runs: dict[str, Run], plan: Plan, clock: Clock) -> Outcome:
    output, kept = request.output, runs[choice.kept]
    exported = export(kept, "safetensors", output / "model.safetensors")  # with its card
    report = output / "report.html"
    write_report(list(runs.values()), report, TITLE, foreword=choice.reasons)
    record = {
        "kept": choice.kept,
        "run": os.path.relpath(kept.path, output),  # so that the folder may be moved
        "verdict": choice.verdict,
        "alarms": outcome_alarms(runs),
        "reasons": choice.reasons,
        "lean": choice.lean and {name: value._asdict() for name, value in choice.lean._asdict().items()},
        "gains": {name: gain._asdict() for name, gain in choice.gains.items()},
        "clearly_worse": {name: [_change(one, kept) for one in lost] for name, lost in choice.worse.items()},
        "plan": {**asdict(plan.size), "epochs_by_model": plan.epochs},
        "budget": clock.budget,
        "seconds": round(clock.spent, 1),
    }
    write_text(output / CHOICE, json.dumps(record, indent=1))
    return Outcome(choice, kept, runs, exported.file, report, exported.card, str(clock))


def outcome_alarms(runs: dict[str, Run]) -> list[str]:
    """What is said of the runs before everything else."""
    return sentences(alarm for name, run in runs.items() for alarm in alarms(run, name))


def _change(one: Change, run: Run) -> dict[str, Any]:
    name = Names.of(run.result).of_class(one.label)
    return {"class": name, "before": one.before, "after": one.after, "difference": one.difference._asdict()}
