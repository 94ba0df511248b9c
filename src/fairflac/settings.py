"""Settings as flat dictionaries: laid over each other, and tables such as `bias_model.key` split off."""

from typing import Any

from pydantic import BaseModel

from fairflac.errors import UserError
from fairflac.nets import NETS
from fairflac.options import options_of


def overlay(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """`base` changed by `top`; options of a network that `top` replaces go with it."""
    replaced = str(base.get("net"))
    if replaced in NETS and top.get("net", replaced) != replaced:
        base = without(base, options_of(NETS[replaced]))
    return base | top


def without(settings: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in model.model_fields}


def split_table(settings: dict[str, Any], name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate `name.key` (or `name`, a table) from the other settings."""
    others = {key: value for key, value in settings.items() if key.partition(".")[0] != name}
    table = settings.get(name, {})
    if not isinstance(table, dict):
        raise UserError(f"{name} = {table!r} is not valid: give {name}.KEY=VALUE")
    dotted = {key.partition(".")[2]: value for key, value in settings.items() if key.startswith(f"{name}.")}
    return others, {**table, **dotted}
