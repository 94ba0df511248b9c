"""Keyword arguments as validated options: what a class takes is read off its constructor, and written nowhere else."""

import inspect
import tomllib
from collections.abc import Callable
from functools import cache
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from fairflac.errors import UserError, unknown


@cache
def options_of(constructor: Callable[..., Any]) -> type[BaseModel]:
    """A frozen pydantic model of the keyword-only arguments of a class."""
    target = constructor.__init__ if inspect.isclass(constructor) else constructor
    hints = get_type_hints(target, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for name, parameter in inspect.signature(target).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    config = ConfigDict(extra="forbid", frozen=True)
    return create_model(f"{constructor.__name__}Options", __config__=config, **fields)


def checked(model: type[BaseModel], values: dict[str, Any], where: str) -> BaseModel:
    """`model(**values)`, with pydantic's complaint turned into one line."""
    try:
        return model(**values)
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0])  # what follows is a place inside the value, or a branch of its type
        if problem["type"] == "extra_forbidden":
            unknown(f"setting for {where}", key, model.model_fields)
        if problem["type"] == "missing":
            raise UserError(f"{where}: {key} is missing: give it with --set {key}=…") from None
        raise UserError(f"{where}: {key} = {problem['input']!r} is not valid: {problem['msg']}") from None


def parse_assignments(pairs: list[str]) -> dict[str, Any]:
    """`["q=0.95", "net=resnet18"]` → a dictionary; values are TOML, or plain words."""
    parsed: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UserError(f"--set {pair}: expected key=value, for example --set epochs=10")
        try:
            parsed[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            parsed[key] = text.strip()
    return parsed
