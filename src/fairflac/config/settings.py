"""Which setting belongs where: the recipe and the user's changes, sorted by name. `run_config` checks every value.

Nothing here imports torch, so that a mistyped name or a wrong number is answered at once.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairflac.config.options import check_plain, lookup, registered, training_options
from fairflac.config.plugins import is_plugged
from fairflac.config.recipes import bias_model_kind, has_recipe, recipe_for
from fairflac.errors import UserError, unknown
from fairflac.system.progress import tell_once

MAX_SEED = 2**32 - 1
OTHERS = "other_bias_models"  # of further attributes: tables, each of what differs from `bias_model`
OF_PIXELS = ("augment", "bias_features")  # settings that say nothing of training on embeddings


@dataclass(frozen=True)
class Arranged:
    """The settings of a run, each under the part that it belongs to."""

    dataset: str
    method: str
    net: str
    target: str
    sections: dict[str, dict[str, Any]]  # data_options, net_options, method_options, train
    biased_net: tuple[str, dict[str, Any]] | None  # the second network and its options
    stage_one: "Arranged | Path | None"  # of the bias model; a path: it is that run
    seed: int | None = None  # of a bias model that has its own
    others: "tuple[Arranged | Path, ...]" = ()  # the bias models of further attributes

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.dataset} {self.method}"


def arrange(dataset: str, method: str, changes: dict[str, Any], *, complete: bool = False) -> Arranged:
    """The recipe of `method` on `dataset` with the user's changes; every name is checked.

    `complete`: they are all there is to say, as in a config file, and no recipe adds to them.
    """
    lookup("dataset", dataset)
    has = lookup("method", method)
    where = f"{dataset} {method}"
    changes, own_biased_net = split_table(changes, "biased_net")
    own, own_stage_one = split_stage_one(changes)
    recipe = {} if complete else recipe_for(dataset, _recipe_of(dataset, method), own)
    recipe, recipe_biased_net = split_table(recipe, "biased_net")
    recipe, recipe_stage_one = split_stage_one(recipe)
    settings = overlay(recipe, own)
    other_tables = tables(settings.pop(OTHERS, []))
    biased_net = None
    if has.flags["needs_biased_net"]:
        biased_net = _biased_net(settings, overlay(recipe_biased_net, own_biased_net), where)
    elif own_biased_net:
        raise UserError(f"'{method}' has no biased network: remove the setting biased_net.{next(iter(own_biased_net))}")
    if settings.get("net") is None:
        raise UserError(f"the recipes of '{dataset}' name no network: set net, for example net=resnet18")
    net, target = str(settings.pop("net")), str(settings.pop("target", "class"))
    lookup("net", net)
    sections = _sections(settings, dataset, method, net)
    stage_one: Arranged | Path | None = None
    others: tuple[Arranged | Path, ...] = ()
    said = [*(f"bias_model.{key}" for key in own_stage_one), *([OTHERS] if other_tables else [])]
    if settings.get("groups"):
        if said:
            raise UserError(f"groups stand in for the bias model of '{method}': remove the setting {said[0]}")
    elif has.flags["needs_bias_model"]:
        if other_tables and not has.flags["takes_bias_models"]:
            raise UserError(f"'{method}' takes one bias model: remove the setting {OTHERS}")
        shared = without(settings, has.options) | {"net": net, "target": target}
        shared.pop("bias_features", None)  # says how a bias model is used, and stage 1 has none
        shared = {} if complete else shared
        stage_one = _stage_one(dataset, shared, own_stage_one, recipe_stage_one)
        if not complete:
            other_tables = [beside_first(own_stage_one, table) for table in other_tables]
        others = tuple(_stage_one(dataset, shared, table, recipe_stage_one) for table in other_tables)
    elif said:
        raise UserError(f"'{method}' has no bias model: remove the setting {said[0]}")
    return Arranged(dataset, method, net, target, sections, biased_net, stage_one, others=others)


def tables(value: Any) -> list[dict[str, Any]]:
    """What is said of further bias models."""
    if not isinstance(value, list | tuple) or not all(isinstance(table, dict) and table for table in value):
        raise UserError(
            f"{OTHERS} = {value!r} is not valid: give a list with a table for each of them, of what differs from "
            f'bias_model, for example {OTHERS}=[{{target = "age"}}]'
        )
    return list(value)


def beside_first(first: dict[str, Any], table: dict[str, Any]) -> dict[str, Any]:
    """The settings of a further bias model: as those of the first, but for what its table says."""
    return dict(table) if "run" in table else overlay(without(first, ["run"]), table)


def _recipe_of(dataset: str, method: str) -> str:
    """Whose recipe holds: a plug-in's method has none, and trains as vanilla does."""
    if not is_plugged("methods", method) or has_recipe(dataset, method):
        return method
    if has_recipe(dataset, "vanilla"):
        tell_once(f"'{method}' has no recipe for {dataset}: it trains with the settings of vanilla")
    return "vanilla"


def without(settings: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in names}


def split_table(settings: dict[str, Any], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate `name.key` (or `name`, a table) from the other settings."""
    others = {key: value for key, value in settings.items() if key.partition(".")[0] != name}
    table = settings.get(name, {})
    if not isinstance(table, dict):
        raise UserError(f"{name} = {table!r} is not valid: give {name}.KEY=VALUE")
    dotted = {key.partition(".")[2]: value for key, value in settings.items() if key.startswith(f"{name}.")}
    return others, {**table, **dotted}


def split_stage_one(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate `bias_model.key` (or `bias_model`, a table or a run directory) from the settings of the run itself."""
    table = settings.get("bias_model", {})
    if not isinstance(table, dict | str):
        raise UserError(f"bias_model = {table!r} is not valid: give a run directory or bias_model.KEY=VALUE")
    run = {"bias_model": {"run": table}} if isinstance(table, str) else {}
    return split_table(settings | run, "bias_model")


def overlay(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """`base` changed by `top`; options of a network that `top` replaces go, and what its own cannot use."""
    nets = registered("net")
    replaced, chosen = nets.get(str(base.get("net"))), nets.get(str(top.get("net", base.get("net"))))
    if replaced is not None and top.get("net", base["net"]) != base["net"]:
        base = without(base, replaced.options)
    if chosen is not None and chosen.flags["frozen"]:
        base = without(base, OF_PIXELS)
    return base | top


def _sections(settings: dict[str, Any], dataset: str, method: str, net: str) -> dict[str, dict[str, Any]]:
    """Send each setting to the part that has it."""
    where = f"{dataset} {method}"
    takers = {
        "data_options": lookup("dataset", dataset),
        "net_options": lookup("net", net),
        "method_options": lookup("method", method),
        "train": training_options(),
    }
    for key in settings:
        if not any(key in taker.options for taker in takers.values()):
            everything = {name for taker in takers.values() for name in taker.options} | {"net", "target"}
            unknown("setting", key, everything, f"of {where}")
    sections = {part: {key: settings[key] for key in settings if key in one.options} for part, one in takers.items()}
    for part, taker in takers.items():
        check_plain(taker.types, sections[part], where)
    return sections


def _biased_net(settings: dict[str, Any], own: dict[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    """The network that is trained beside that of the run: the same, but for what the recipe or the user says."""
    name = str(own.get("net", settings.get("net")))
    options = lookup("net", name).options
    shared = {key: settings[key] for key in options if key in settings and name == settings.get("net")}
    values = {**shared, **{key: value for key, value in own.items() if key != "net"}}
    for key in values:
        if key not in options:
            unknown("setting", key, options, f"of the biased network of {where}")
    return name, values


def _stage_one(dataset: str, shared: dict[str, Any], own: dict[str, Any], recipe: dict[str, Any]) -> "Arranged | Path":
    """A run that the user names; or a vanilla run with the settings of its run, but for what is said of it.

    Without settings of its run, what is said of it is all.
    """
    own = dict(own)
    run, kind = own.pop("run", None), own.pop("kind", None)
    if run is not None:
        others = [*own, *(["kind"] if kind else [])]
        if others:
            raise UserError(f"bias_model.{others[0]} cannot be set: the bias model is the finished run '{run}'")
        return Path(str(run))
    recipe = recipe if kind is None else bias_model_kind(dataset, str(kind))
    own = overlay({"net": shared.get("net"), **recipe}, own)
    other, method = str(own.pop("dataset", dataset)), str(own.pop("method", "vanilla"))
    lookup("dataset", other, "of the bias model")
    methods = registered("method")
    if method not in methods or methods[method].flags["needs_bias_model"]:
        alone = (name for name, one in methods.items() if not one.flags["needs_bias_model"])
        unknown("method", method, alone, "of the bias model")
    if other != dataset:  # the data options of one dataset mean nothing to another
        shared = without(shared, lookup("dataset", dataset).options)
    seed = own.pop("seed", "run")
    if seed != "run" and (type(seed) is not int or not 0 <= seed <= MAX_SEED):
        raise UserError(f"bias_model.seed = {seed!r} is not valid: give a whole number from 0 to {MAX_SEED}, or 'run'")
    found = arrange(other, method, overlay(shared, own), complete=not shared)
    return replace(found, seed=None if seed == "run" else seed)
