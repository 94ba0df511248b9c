"""RunConfig: everything that decides the result of a run, from a recipe and the user's changes."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from fairflac.config.options import checked, options_of
from fairflac.config.recipes import recipe_for
from fairflac.config.settings import MAX_SEED, OTHERS, Arranged, arrange
from fairflac.data import DATASETS
from fairflac.data.pixels.augment import Augmentation
from fairflac.errors import UserError, unknown
from fairflac.methods import METHODS
from fairflac.metrics.selection import RULES
from fairflac.nets import NETS
from fairflac.nets.weights import IMAGENET, WITH_IMAGENET_WEIGHTS, imagenet_file
from fairflac.runs.directory import Run
from fairflac.system.files import data_root

# Raised when old run directories can no longer be continued or compared.
FORMAT = 1

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
    other_bias_models: "tuple[RunConfig, ...]" = ()  # of further attributes
    biased_net: NetConfig | None = None

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Nothing of further bias models where there are none, so that such runs keep their id."""
        content: dict[str, Any] = write(self)
        if not self.other_bias_models:
            content.pop(OTHERS, None)
        return content

    @property
    def run_id(self) -> str:
        """A stable short hash of everything but the seed."""
        content = {"format": FORMAT, **self.model_dump(mode="json", exclude={"seed"})}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]

    @property
    def folder(self) -> str:
        """Where the run lies below the folder of all runs."""
        return f"{self.dataset}/{self.method}/{self.run_id}-s{self.seed}"

    @property
    def lacks_weights(self) -> bool:
        """The recipe starts from ImageNet weights, and this run does not: its numbers are not comparable."""
        recipe = recipe_for(self.dataset, self.method, self.data_options)
        asked = recipe.get("weights") == IMAGENET and recipe.get("net") == self.net
        return asked and "weights" not in self.net_options

    def without_weights(self) -> "RunConfig":
        """The same networks with new weights: who has trained ones does not need those that training began with."""
        biased = self.biased_net
        own: dict[str, Any] = {"net_options": _trained_options(self.net_options)}
        if biased is not None:
            own["biased_net"] = NetConfig(net=biased.net, net_options=_trained_options(biased.net_options))
        return self.model_copy(update=own)

    def stage_one(self) -> "RunConfig | None":
        """The run that provides the bias model."""
        return next(iter(self.stages_one()), None)

    def stages_one(self) -> "tuple[RunConfig, ...]":
        """The runs that provide the bias models, one for each attribute."""
        first = () if self.bias_model is None else (self.bias_model,)
        return tuple(
            one if one.seed is not None else one.model_copy(update={"seed": self.seed})
            for one in (*first, *self.other_bias_models)
        )

    def to_toml(self) -> str:
        text = tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UserError("a path in the settings is no text in UTF-8, and could not be read back: rename the folder")
        return text


def _trained_options(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in ("weights", "pretrained")}


def resolve(
    dataset: str,
    method: str,
    seed: int | None = 0,
    changes: dict[str, Any] | None = None,
    data: Path | None = None,
    *,
    complete: bool = False,
) -> RunConfig:
    """The recipe of `method` on `dataset` with the user's changes: names, values and combinations all checked.

    `data` is the folder of datasets, in which ImageNet weights are looked for. Where a recipe starts from them and they
    are not there, the run starts from scratch (`lacks_weights`) and is another run. `complete`: the changes are all
    settings of a run, as a config file has them, and no recipe adds to them.
    """
    changes = dict(changes or {})
    found = arrange(dataset, method, dict(changes), complete=complete)
    if not complete and not imagenet_file(data or data_root()).is_file():
        found = _from_scratch(found, changes)
    return _valid(found, seed)


def _from_scratch(found: Arranged, changes: dict[str, Any], prefix: str = "") -> Arranged:
    """Without the ImageNet weights that only a recipe asked for; what the user asked for stays."""
    stage_one, biased_net, options = found.stage_one, found.biased_net, found.sections["net_options"]
    others = found.others
    if not prefix:
        stage_one = stage_one and _stage_from_scratch(stage_one, changes)
        others = tuple(_stage_from_scratch(one, changes) for one in others)
    if not {"weights", f"{prefix}weights"} & changes.keys():
        options = _without_imagenet(options)
        biased_net = biased_net and (biased_net[0], _without_imagenet(biased_net[1]))
    sections = {**found.sections, "net_options": options}
    return replace(found, sections=sections, biased_net=biased_net, stage_one=stage_one, others=others)


def _stage_from_scratch(stage_one: Arranged | Path, changes: dict[str, Any]) -> Arranged | Path:
    return _from_scratch(stage_one, changes, "bias_model.") if isinstance(stage_one, Arranged) else stage_one


def _without_imagenet(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if (key, value) != ("weights", IMAGENET)}


def _valid(found: Arranged, seed: int | None) -> RunConfig:
    """With every value checked by what it is for."""
    models: dict[str, type[BaseModel]] = {
        "data_options": options_of(DATASETS[found.dataset]),
        "method_options": options_of(METHODS[found.method]),
        "train": TrainConfig,
    }
    sections: dict[str, Any] = {
        section: checked(model, found.sections[section], found.where).model_dump(mode="json", exclude_none=True)
        for section, model in models.items()
    }
    biased_net = None
    if found.biased_net is not None:
        name, values = found.biased_net
        biased_net = NetConfig(net=name, net_options=_net_options(name, values, f"biased_net of {found.where}"))
    config = RunConfig(
        dataset=found.dataset,
        method=found.method,
        net=found.net,
        seed=seed,
        target=found.target,
        bias_model=None if found.stage_one is None else _bias_model(found.stage_one),
        other_bias_models=tuple(_bias_model(one) for one in found.others),
        biased_net=biased_net,
        net_options=_net_options(found.net, found.sections["net_options"], found.where),
        **sections,
    )
    _check_combination(config)
    return config


def _bias_model(stage_one: Arranged | Path) -> RunConfig:
    return finished(stage_one) if isinstance(stage_one, Path) else _valid(stage_one, stage_one.seed)


def _net_options(net: str, values: dict[str, Any], where: str) -> dict[str, Any]:
    """Checked; a frozen network is nothing without weights."""
    given = {"weights": IMAGENET, **values} if _is_frozen(net) and net in WITH_IMAGENET_WEIGHTS else values
    return checked(options_of(NETS[net]), given, where).model_dump(mode="json", exclude_none=True)


def _is_frozen(net: str) -> bool:
    return getattr(NETS[net], "frozen", False)


def finished(path: Path) -> RunConfig:
    """A run that the user names as bias model; it was made as it was made."""
    run = Run.open(path)
    if not run.done:
        raise UserError(f"'{path}' is not finished: train it to its end before it serves as bias model")
    try:
        return RunConfig.model_validate(run.config)
    except ValueError as error:
        raise UserError(f"'{path}' is not a run of this version") from error


def _check_combination(config: RunConfig) -> None:
    if config.seed is not None and config.seed > MAX_SEED:
        raise UserError(f"seed {config.seed} is not valid: the largest is {MAX_SEED}")
    if config.train.selection not in RULES:
        unknown("selection rule", config.train.selection, RULES)
    if config.train.epochs == 0 and not config.net_options.get("weights"):
        raise UserError("epochs = 0 trains nothing: give the weights of the network as well, or set epochs")
    if config.train.epochs == 0 and config.train.selection != "last":
        raise UserError(f"selection = '{config.train.selection}' needs epochs to choose from: set epochs")
    if config.train.bias_features == "live" and config.method_options.get("balance"):
        raise UserError("balance asks the bias model about all images before training: set bias_features = 'cached'")
    if config.method_options.get("combine") and not config.other_bias_models:
        raise UserError(f"combine says what becomes of several attributes, and there is one bias model: set {OTHERS}")
    if config.bias_model is not None:
        for stage_one in (config.bias_model, *config.other_bias_models):
            _check_stage_one(config, stage_one)
    elif config.data_options.get("groups"):
        _check_groups(config)
    if _is_frozen(config.net):
        _check_frozen(config)
    attributes = DATASETS[config.dataset].attributes
    if config.target != "class" and attributes is not None and config.target not in attributes:
        unknown("target", config.target, {"class", *attributes}, f"of {config.dataset}")


def _check_groups(config: RunConfig) -> None:
    """Found groups say of each image which value it has, and nothing else."""
    method = METHODS[config.method]
    if method.asks_for_classes or method.bias_model_method is not None:
        raise UserError(f"'{config.method}' needs a bias model, and groups cannot stand in for it: leave out groups")
    if method.needs_bias_model and config.train.bias_features == "live":
        raise UserError("groups are known of images as they are: leave bias_features = 'cached'")


def _check_frozen(config: RunConfig) -> None:
    """What is trained on embeddings, computed once, can do nothing with images."""
    net, train, biased = config.net, config.train, config.biased_net
    if not METHODS[config.method].takes_vectors:
        raise UserError(f"'{config.method}' needs images, and {net} is trained on embeddings: choose another of them")
    if train.epochs == 0:
        raise UserError(f"epochs = 0 trains nothing, and the head of {net} has no weights yet: set epochs")
    if train.augment != "none":
        raise UserError(f"augment = '{train.augment}' is for images, and {net} sees each once: set augment to none")
    if config.bias_model is not None and train.bias_features == "live":
        raise UserError(f"bias_features = 'live' is for augmented images, which {net} has none of: set it to cached")
    weights = config.net_options.get("weights")
    if biased is not None and (biased.net != net or biased.net_options.get("weights") != weights):
        raise UserError(
            f"'{config.method}' trains {biased.net} beside {net}, on the same embeddings: set biased_net.net={net}, "
            "with the same weights"
        )


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
