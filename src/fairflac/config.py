"""RunConfig: everything that decides the result of a run, from a recipe and the user's changes."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field

from fairflac.data import DATASETS
from fairflac.data.augment import Augmentation
from fairflac.errors import UserError, unknown
from fairflac.methods import METHODS
from fairflac.nets import NETS
from fairflac.options import checked, options_of
from fairflac.recipes import bias_model_kind, recipe_for
from fairflac.runs import Run
from fairflac.selection import RULES
from fairflac.settings import overlay, split_table, without

# Raised when old run directories can no longer be continued or compared.
FORMAT = 1
MAX_SEED = 2**32 - 1

Schedule = Literal["multistep", "cosine", "constant"]
Precision = Literal["auto", "32-true", "bf16-mixed", "16-mixed"]


class TrainConfig(BaseModel):
    """How a method is optimised; the defaults are the paper's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: Annotated[int, Field(ge=0)] = 80  # 0: the net's `weights` as they are
    batch_size: Annotated[int, Field(ge=2)] = 128  # of all processes together; pairs need two samples
    lr: Annotated[float, Field(gt=0)] = 1e-3
    weight_decay: Annotated[float, Field(ge=0)] = 1e-4
    schedule: Schedule = "multistep"
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    precision: Precision = "auto"
    augment: Augmentation = "none"
    selection: str = "last"
    bias_features: Literal["cached", "live"] = "cached"


class NetConfig(BaseModel):
    """A second network."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    net: str
    net_options: dict[str, Any] = {}


class RunConfig(BaseModel):
    """One run. Two configs with the same `run_id` differ in their seed at most."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    method: str
    net: str
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None  # None: a stage 1 that follows its run's
    target: str = "class"  # or the attribute that a bias model predicts
    data_options: dict[str, Any] = {}
    net_options: dict[str, Any] = {}
    method_options: dict[str, Any] = {}
    train: TrainConfig = TrainConfig()
    bias_model: "RunConfig | None" = None
    biased_net: NetConfig | None = None

    @property
    def run_id(self) -> str:
        """A stable short hash of everything but the seed."""
        content = {"format": FORMAT, **self.model_dump(mode="json", exclude={"seed"})}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def folder(self) -> str:
        """Where the run lies below the folder of all runs."""
        return f"{self.dataset}/{self.method}/{self.run_id}-s{self.seed}"

    def stage_one(self) -> "RunConfig | None":
        """The run that provides the bias model."""
        if self.bias_model is None or self.bias_model.seed is not None:
            return self.bias_model
        return self.bias_model.model_copy(update={"seed": self.seed})

    def to_toml(self) -> str:
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def resolve(dataset: str, method: str, seed: int | None = 0, changes: dict[str, Any] | None = None) -> RunConfig:
    """The recipe of `method` on `dataset` with the user's changes: names, values and combinations all checked."""
    if dataset not in DATASETS:
        unknown("dataset", dataset, DATASETS)
    if method not in METHODS:
        unknown("method", method, METHODS)
    return _resolve(dataset, method, seed, dict(changes or {}))


def _resolve(dataset: str, method: str, seed: int | None, changes: dict[str, Any]) -> RunConfig:
    changes, own_biased_net = split_table(changes, "biased_net")
    own, own_stage_one = _split_stage_one(changes)
    recipe, recipe_biased_net = split_table(recipe_for(dataset, method, own), "biased_net")
    recipe, recipe_stage_one = _split_stage_one(recipe)
    settings = overlay(recipe, own)
    biased_net = _biased_net(method, settings, overlay(recipe_biased_net, own_biased_net), f"{dataset} {method}")
    net, target = settings.pop("net", None), str(settings.pop("target", "class"))
    if net is None:
        raise UserError(f"the recipes of '{dataset}' name no network: give one with --set net=NAME")
    net = str(net)
    if net not in NETS:
        unknown("net", net, NETS)
    models: dict[str, type[BaseModel]] = {
        "data_options": options_of(DATASETS[dataset]),
        "net_options": options_of(NETS[net]),
        "method_options": options_of(METHODS[method]),
        "train": TrainConfig,
    }
    sections = _sections(settings, models, f"{dataset} {method}")
    bias_model = None
    if METHODS[method].needs_bias_model:
        shared = without(settings, models["method_options"]) | {"net": net, "target": target}
        shared.pop("bias_features", None)  # says how a bias model is used, and stage 1 has none
        run, kind = own_stage_one.pop("run", None), own_stage_one.pop("kind", None)
        if run is not None:
            bias_model = _finished(Path(str(run)), [*own_stage_one, *(["kind"] if kind else [])])
        else:
            base = recipe_stage_one if kind is None else bias_model_kind(dataset, str(kind))
            bias_model = _resolve_stage_one(dataset, shared, overlay(base, own_stage_one))
    elif own_stage_one:
        raise UserError(f"'{method}' has no bias model: remove the setting bias_model.{next(iter(own_stage_one))}")
    config = RunConfig(
        dataset=dataset,
        method=method,
        net=net,
        seed=seed,
        target=target,
        bias_model=bias_model,
        biased_net=biased_net,
        **sections,
    )
    _check_combination(config)
    return config


def _resolve_stage_one(dataset: str, shared: dict[str, Any], own: dict[str, Any]) -> RunConfig:
    """Stage 1 is a vanilla run with the settings of its run, but for what the recipe or the user says of it."""
    other, method = str(own.pop("dataset", dataset)), str(own.pop("method", "vanilla"))
    if other not in DATASETS:
        unknown("dataset of the bias model", other, DATASETS)
    if method not in METHODS or METHODS[method].needs_bias_model:
        unknown("method of the bias model", method, (n for n, m in METHODS.items() if not m.needs_bias_model))
    if other != dataset:  # the data options of one dataset mean nothing to another
        shared = without(shared, options_of(DATASETS[dataset]))
    seed = own.pop("seed", "run")
    if seed != "run" and (type(seed) is not int or not 0 <= seed <= MAX_SEED):
        raise UserError(f"bias_model.seed = {seed!r} is not valid: give a whole number from 0 to {MAX_SEED}, or 'run'")
    return _resolve(other, method, None if seed == "run" else seed, overlay(shared, own))


def _finished(path: Path, others: list[str]) -> RunConfig:
    """A run that the user names as bias model; it was made as it was made."""
    run = Run.open(path)
    if others:
        raise UserError(f"bias_model.{others[0]} cannot be set: the bias model is the finished run '{path}'")
    if not run.done:
        raise UserError(f"'{path}' is not finished: train it to its end before it serves as bias model")
    try:
        return RunConfig.model_validate(run.config)
    except ValueError as error:
        raise UserError(f"'{path}' is not a run of this version") from error


def _sections(settings: dict[str, Any], models: dict[str, type[BaseModel]], where: str) -> dict[str, Any]:
    """Send each setting to the model that has it, and let the models check their values."""
    values: dict[str, dict[str, Any]] = {section: {} for section in models}
    for key, value in settings.items():
        home = [section for section, model in models.items() if key in model.model_fields]
        if not home:
            known = {name for model in models.values() for name in model.model_fields} | {"net", "target"}
            unknown(f"setting for {where}", key, known)
        values[home[0]][key] = value
    return {
        section: checked(model, values[section], where).model_dump(mode="json", exclude_none=True)
        for section, model in models.items()
    }


def _biased_net(method: str, settings: dict[str, Any], own: dict[str, Any], where: str) -> NetConfig | None:
    """The network that is trained beside that of the run: the same, but for what the recipe or the user says."""
    if not METHODS[method].needs_biased_net:
        if own:
            raise UserError(f"'{method}' has no biased network: remove the setting biased_net.{next(iter(own))}")
        return None
    name = str(own.get("net", settings.get("net")))
    if name not in NETS:
        unknown("net", name, NETS)
    options = options_of(NETS[name])
    shared = {key: settings[key] for key in options.model_fields if key in settings and name == settings.get("net")}
    values = {**shared, **{key: value for key, value in own.items() if key != "net"}}
    for key in values:
        if key not in options.model_fields:
            unknown(f"setting of the biased network for {where}", key, options.model_fields)
    chosen = checked(options, values, f"biased_net of {where}").model_dump(mode="json", exclude_none=True)
    return NetConfig(net=name, net_options=chosen)


def _split_stage_one(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate `bias_model.key` (or `bias_model`, a table or a run directory) from the settings of the run itself."""
    table = settings.get("bias_model", {})
    if not isinstance(table, dict | str):
        raise UserError(f"bias_model = {table!r} is not valid: give a run directory or bias_model.KEY=VALUE")
    run = {"bias_model": {"run": table}} if isinstance(table, str) else {}
    return split_table(settings | run, "bias_model")


def _check_combination(config: RunConfig) -> None:
    if config.seed is not None and config.seed > MAX_SEED:
        raise UserError(f"seed {config.seed} is not valid: the largest is {MAX_SEED}")
    if config.train.selection not in RULES:
        unknown("selection rule", config.train.selection, RULES)
    if config.train.epochs == 0 and not config.net_options.get("weights"):
        raise UserError("epochs = 0 trains nothing: give the weights of the network as well, or set epochs")
    if config.train.epochs == 0 and config.train.selection != "last":
        raise UserError(f"selection = '{config.train.selection}' needs epochs to choose from: set epochs")
    if config.bias_model is not None:
        _check_stage_one(config, config.bias_model)
    attributes = DATASETS[config.dataset].attributes
    if config.target != "class" and attributes is not None and config.target not in attributes:
        unknown(f"target of {config.dataset}", config.target, {"class", *attributes})


def _check_stage_one(config: RunConfig, stage_one: RunConfig) -> None:
    method = METHODS[config.method]
    if method.asks_for_classes and (stage_one.dataset, stage_one.target) != (config.dataset, config.target):
        raise UserError(
            f"'{config.method}' asks its bias model for the classes of {config.dataset}: it cannot be another"
        )
    if method.bias_model_method not in (None, stage_one.method):
        raise UserError(
            f"the bias model of '{config.method}' is a run of {method.bias_model_method}, not of another kind"
        )
