"""The whole way: plan, train, choose, and leave a model with a page and a card."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairflac.build import load_split
from fairflac.config import RunConfig, resolve
from fairflac.debias.bias_models import BiasModel
from fairflac.debias.budget import Size, minutes
from fairflac.debias.choice import VANILLA, Choice, choose
from fairflac.debias.request import Request, planned
from fairflac.errors import UserError
from fairflac.export.writing import export
from fairflac.files import write_text
from fairflac.methods import METHODS
from fairflac.metrics.classes import Change
from fairflac.options import options_of
from fairflac.progress import tell
from fairflac.report.html import write as write_report
from fairflac.report.names import Names
from fairflac.runs import Run
from fairflac.settings import without
from fairflac.train import Place, adopt, train
from fairflac.validation import predict

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


def debias(request: Request, data: Path) -> Outcome:
    """Everything that is there already is taken as it is, so that the same request goes on where it was stopped."""
    size = planned(request)
    stage_one = request.stage_one(size)
    settings: dict[str, Any] = {**request.data_settings(), **size.settings(), **request.changes}
    if stage_one.columns is not None:
        settings["columns"] = list(stage_one.columns)
    against = resolve(request.dataset, stage_one.method, request.seed, {**stage_one.settings, **settings})
    own = without(settings, options_of(METHODS[stage_one.method]))  # an alpha means nothing to vanilla
    plain = resolve(request.dataset, VANILLA, request.seed, own)
    place = Place(request.output / "runs", data)
    if stage_one.run is not None:
        adopt(stage_one.run, place)
    tell(_announcement(request, size, stage_one))
    runs = {VANILLA: _trained(plain, place), against.method: _trained(against, place)}
    choice = _choice(runs, against, place)
    kept = runs[choice.kept]
    return _leave(request, choice, kept, runs)


def _trained(config: RunConfig, place: Place) -> Run:
    run = train(config, place)
    assert run is not None  # one process
    return run


def _choice(runs: dict[str, Run], against: RunConfig, place: Place) -> Choice:
    validation = load_split(against, place.data, "validation")
    if validation is None or not len(validation):
        raise UserError("there is no validation image to choose by: add images, or a folder 'val'")
    guesser = _guesser(against)
    guess = predict(_trained(guesser, place), validation).prediction
    tables = {name: predict(run, validation) for name, run in runs.items()}
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


def _announcement(request: Request, size: Size, stage_one: BiasModel) -> str:
    return (
        f"{request.path}: {size.net} on images of {size.size} pixels, {size.epochs} epochs, batches of "
        f"{size.batch_size}; about {minutes(size.seconds)} for both models. Bias model: {stage_one.says}."
    )


def _leave(request: Request, choice: Choice, kept: Run, runs: dict[str, Run]) -> Outcome:
    output = request.output
    exported = export(kept, "safetensors", output / "model.safetensors")  # with its card
    report = output / "report.html"
    write_report(list(runs.values()), report, TITLE, foreword=choice.reasons)
    record = {
        "kept": choice.kept,
        "run": str(kept.path),
        "verdict": choice.verdict,
        "reasons": choice.reasons,
        "lean": choice.lean and {name: value._asdict() for name, value in choice.lean._asdict().items()},
        "gains": {name: gain._asdict() for name, gain in choice.gains.items()},
        "clearly_worse": {name: [_change(one, kept) for one in lost] for name, lost in choice.worse.items()},
        "plan": asdict(planned(request)),
    }
    write_text(output / "choice.json", json.dumps(record, indent=1))
    return Outcome(choice, kept, runs, exported.file, report, exported.card)


def _change(one: Change, run: Run) -> dict[str, Any]:
    name = Names.of(run.result).of_class(one.label)
    return {"class": name, "before": one.before, "after": one.after, "difference": one.difference._asdict()}
