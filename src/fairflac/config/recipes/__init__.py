"""Recipes: one TOML file per dataset with the hyper-parameters of every method and the source of each number.

[all]                    what all methods of this dataset share
[NAME]                   what method NAME changes
[[NAME.when]]            `if.KEY = VALUE`: only where these settings have these values; `bias_model.KEY` changes stage 1
[NAME.bias_model]        how its stage 1 differs from a vanilla run with the same settings; `like = "METHOD"`: as there
[NAME.biased_net]        how its second network differs from the first
like = "DATASET"         the recipes of another dataset hold for this one
[bias_models.KIND]       other stages 1 that need no attribute labels, for `--set bias_model.kind=KIND`

Sources: [P] FLAC's paper, [C] its authors' released code; the public code of [B] bias-contrastive learning (BC-BB and
SoftCon), [E] EnD, [K] FairKL, [L] LfF, DisEnt and BE, [N] LNL, [R] ReBias, [S] GroupDRO; [J] JTT's paper. "Ours" is
what we chose.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from fairflac.errors import unknown


@cache
def _load(dataset: str) -> dict[str, Any]:
    recipe = tomllib.loads(files(__package__).joinpath(f"{dataset}.toml").read_text())
    return _load(recipe["like"]) if "like" in recipe else recipe


def recipe_names() -> list[str]:
    """The datasets that have a recipe."""
    return sorted(entry.name.removesuffix(".toml") for entry in files(__package__).iterdir() if ".toml" in entry.name)


def recipe_methods(dataset: str) -> list[str]:
    """The methods that a dataset's recipe speaks of."""
    return [name for name in _load(dataset) if name not in ("all", "bias_models")]


def has_recipe(dataset: str, method: str) -> bool:
    return dataset in recipe_names() and method in recipe_methods(dataset)


def bias_model_kind(dataset: str, kind: str) -> dict[str, Any]:
    """Settings of a named kind of bias model."""
    kinds = _load(dataset).get("bias_models", {}) if dataset in recipe_names() else {}
    if kind not in kinds:
        unknown(f"kind of bias model for {dataset}", kind, kinds)
    return dict(kinds[kind])


def recipe_for(dataset: str, method: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Settings of `method` on `dataset`; `changes` (the user's own) decide which `when` entries hold."""
    if dataset not in recipe_names():
        return {}
    sections = [_load(dataset).get(name, {}) for name in ("all", method)]
    settings: dict[str, Any] = {key: value for section in sections for key, value in section.items() if key != "when"}
    for case in (case for section in sections for case in section.get("when", [])):
        known = {**settings, **changes}
        if all(known.get(key) == value for key, value in case["if"].items()):
            settings |= {key: _changed(settings.get(key), value) for key, value in case.items() if key != "if"}
    own = dict(settings.get("bias_model", {}))
    if other := own.pop("like", None):
        settings["bias_model"] = {**recipe_for(dataset, other, changes)["bias_model"], **own}
    return settings


def _changed(old: Any, new: Any) -> Any:
    """Of a table, such as `bias_model`, only what is named changes."""
    return {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else new
