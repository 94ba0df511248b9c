"""Parameters of the estimator → the config of a run. Whatever is not given stands in the recipe of own images."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from fairflac.config.options import options_of
from fairflac.config.recipes import recipe_for
from fairflac.config.run_config import RunConfig, resolve
from fairflac.errors import UserError, unknown
from fairflac.estimator.inputs import Kind, WrongInput
from fairflac.methods import METHODS

SMALL = 48  # pixels, below which ResNet-18 has next to nothing left in its last layers
OF_DIGITS = ("net", "strides", "channels", "lr", "schedule")  # what small images take from the recipe of digits,
OF_PAIRS = ("bias_output", "reduction")  # and what that leaves as the method has it
# Not for an estimator: it has no validation data, trains its bias model itself, and takes data as X.
REFUSED = ("selection", "bias_model", "bias_model.run", "path", "dataset", "target")


def net_settings(net: str | nn.Module, method: str, kind: Kind, shape: tuple[int, ...] | None) -> dict[str, Any]:
    """The network and what goes with it; `shape` is of one sample, None for files."""
    if kind == "vectors":
        if isinstance(net, str) and net not in ("auto", "mlp"):
            raise WrongInput(f"net = '{net}' is for images: take 'auto', 'mlp' or a module of your own for vectors")
        assert shape is not None
        return {"net": "mlp", "inputs": shape[0]}
    if isinstance(net, nn.Module):
        return {}
    if net.startswith("timm:"):
        return {"net": "timm", "model": net.removeprefix("timm:")}
    if net != "auto":
        return {"net": net}
    if shape is None or min(shape[:2]) >= SMALL:
        return {}
    digits, options = recipe_for("biased-digits", "vanilla", {}), options_of(METHODS[method]).model_fields
    return {key: digits[key] for key in OF_DIGITS} | {key: options[key].default for key in OF_PAIRS if key in options}


def check_method(method: str, x: Kind, *, taught: bool, given: bool) -> None:
    """Does the method suit X, and is what is known of the shortcut of use to it, and enough?"""
    if method not in METHODS:
        unknown("method", method, METHODS)
    kind = METHODS[method]
    if not kind.takes_vectors and x == "vectors":
        raise WrongInput(f"'{method}' needs images, and these are vectors: choose another method")
    if kind.uses_bias_labels and not taught and x != "files":  # a CSV file has them
        raise WrongInput(f"'{method}' trains with labels of the shortcut: give them to fit as attribute")
    if taught and given:
        raise WrongInput("attribute and bias_features both say what the shortcut is: give one of them")
    if given and not kind.needs_bias_model:
        raise WrongInput(f"'{method}' has no bias model: leave out bias_features")
    if given and (kind.asks_for_classes or kind.bias_model_method):
        raise WrongInput(f"'{method}' asks its bias model for classes, and bias_features are none: leave them out")
    if taught and not (kind.needs_bias_model or kind.uses_bias_labels):
        raise WrongInput(f"'{method}' has no use for the attribute: leave it out")
    if method == "flac" and not (taught or given):
        raise WrongInput("'flac' needs to be shown the shortcut: give attribute or bias_features, or take 'flac-b'")


def make_config(
    method: str, seed: int, kind: Kind, given: Mapping[str, Any], extra: Mapping[str, Any] | None
) -> RunConfig:
    """`given`: settings by name, None where the recipe decides; `extra`: the user's, as `--set` takes them."""
    for name in extra or {}:
        if name in REFUSED:
            raise WrongInput(f"settings: '{name}' cannot be set here")
    changes = {name: value for name, value in given.items() if value is not None} | dict(extra or {})
    folder = kind == "files" and Path(changes["path"]).is_dir()
    config = resolve("folder" if folder else "csv", method, seed, changes)
    if kind == "vectors" and (others := [net for net in _nets(config) if net != "mlp"]):
        raise WrongInput(f"'{method}' has {others[0]} as second network or bias model, which is for images only")
    return config


def with_given_features(config: RunConfig) -> RunConfig:
    """Pairs are found by the features that the user gave: nobody knows probabilities that go with them."""
    if "bias_output" not in config.method_options:
        return config
    return config.model_copy(update={"method_options": {**config.method_options, "bias_output": "features"}})


def with_own_module(config: RunConfig, module: nn.Module) -> RunConfig:
    """The recipe's network replaced by the user's, in the bias model too unless that has another."""
    name, replaced = f"module {type(module).__name__}", (config.net, config.net_options)
    if config.biased_net is not None:
        raise UserError(f"'{config.method}' trains a second network beside the first: take a net by name")

    def own(one: RunConfig) -> RunConfig:
        return one.model_copy(update={"net": name, "net_options": {}})

    stage = config.bias_model
    if stage is not None and (stage.net, stage.net_options) == replaced:
        config = config.model_copy(update={"bias_model": own(stage)})
    return own(config)


def _nets(config: RunConfig) -> list[str]:
    second = [] if config.biased_net is None else [config.biased_net.net]
    return [config.net, *second, *(_nets(config.bias_model) if config.bias_model else [])]
