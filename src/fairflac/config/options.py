"""Every method, dataset and network by name, and the options that each takes, without importing torch.

What a class takes is read off its constructor, and written nowhere else: options are its keyword-only arguments. A
mistyped word or number should be answered at once, and importing what it is for takes seconds. As long as nothing is
imported, names and plain types are therefore read from the source.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from fairflac.config import plugins
from fairflac.errors import UserError, hint, in_plain_words, unknown
from fairflac.system.parse import parse_toml

Component = Literal["dataset", "method", "net"]
# Where each kind is registered: the package, and the variable that holds what has a name.
REGISTRIES: dict[Component, tuple[str, str]] = {
    "dataset": ("data", "DATASETS"),
    "method": ("methods", "METHODS"),
    "net": ("nets", "NETS"),
}
LISTED = {"DATASETS": "_ALL"}  # the variable that lists its members in the source, where it is another one
# What types are spelled with that can be read without an import, names of ours for such types too; others wait for it.
PLAIN = {one.__name__: one for one in (bool, int, float, str, tuple, Path)} | {
    "Annotated": Annotated, "Literal": Literal, "Field": Field,
}  # fmt: skip
# What a method or a network declares, and settings depend on.
FLAGS = ("needs_bias_model", "takes_bias_models", "needs_biased_net", "frozen")


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
            unknown("setting", key, model.model_fields, f"of {where}")
        if problem["type"] == "missing":
            raise UserError(f"{where}: {key} is missing: set {key}") from None
        raise UserError(
            f"{where}: {key} = {problem['input']!r} is not valid: {in_plain_words(problem['msg'])}"
        ) from None


def check_plain(types: dict[str, Any], values: dict[str, Any], where: str) -> None:
    """Of the values, those whose types are known so far."""
    fields: dict[str, Any] = {name: (types[name], ...) for name in values if name in types}
    checked(create_model("Plain", **fields), {name: values[name] for name in fields}, where)


def parse_assignments(pairs: list[str]) -> dict[str, Any]:
    """`["q=0.95", "net=resnet18"]` → a dictionary; values are TOML, or plain words."""
    parsed: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UserError(f"'{pair}' sets nothing: give key=value, for example epochs=10")
        try:
            parsed[key] = parse_toml(f"value = {text}")["value"]
        except ValueError:
            parsed[key] = text.strip()
    return parsed


def parse_list(text: str) -> list[Any]:
    """`1,2` → [1, 2]; values are TOML, or plain words."""
    try:
        found: list[Any] = parse_toml(f"values = [{text}]")["values"]
    except ValueError:
        found = [word.strip() for word in text.split(",")]
    return found


@dataclass(frozen=True)
class Registered:
    """What can be said of a thing by its name."""

    options: tuple[str, ...]
    types: dict[str, Any] = field(default_factory=dict, compare=False)  # of options, read from the source and plain
    flags: dict[str, bool] = field(default_factory=dict)


def registered(kind: Component) -> dict[str, Registered]:
    """All of a kind: from the registry if it is loaded (something may have been added), else from the source."""
    plugins.load()
    package, registry = REGISTRIES[kind]
    loaded = getattr(sys.modules.get(f"fairflac.{package}"), registry, None)
    if loaded is None:
        return _read(kind)
    return {name: _said_of(thing) for name, thing in loaded.items()}


@cache
def _said_of(thing: Callable[..., Any]) -> Registered:
    flags = {flag: getattr(thing, flag, False) for flag in FLAGS}
    return Registered(tuple(options_of(thing).model_fields), flags=flags)


def lookup(kind: Component, name: str, where: str = "") -> Registered:
    """The thing of that name; an unknown one is an error that suggests the nearest."""
    everything = registered(kind)
    if name not in everything:
        if kind == "dataset" and (path := Path(name).expanduser()).exists():
            own = "folder" if path.is_dir() else "csv"
            raise UserError(
                f"'{name}' is no dataset but images of yours: give {own} as the dataset, and set path={name}"
            )
        unknown(kind, name, everything, where)
    return everything[name]


def check_options(kind: Component, name: str, given: Iterable[str]) -> None:
    """Names of settings that belong to one thing."""
    options = lookup(kind, name).options
    for key in given:
        if key not in options:
            unknown("setting", key, options, f"of {name}")


def check_images(name: str) -> None:
    """A dataset, or a folder or file of the user's own."""
    if name not in registered("dataset") and not Path(name).expanduser().exists():
        no_such_data(name, registered("dataset"))


def no_such_data(name: str, known: Iterable[str]) -> NoReturn:
    """Neither a dataset nor anything on disk."""
    if Path(name).name != name or Path(name).suffix:
        raise UserError(f"there is no folder or file '{name}': check the path")
    raise UserError(f"there is no folder or file '{name}', and no dataset of that name: {hint(name, known)}")


@cache
def sources() -> tuple[str, ...]:
    """Raw files that datasets are built from."""
    return tuple(key or "" for key, _ in _members(_value("fairflac.data", "SOURCES")))


@cache
def training_options() -> Registered:
    """Of how a method is optimised."""
    module = "fairflac.config.run_config"
    ((_, fields),) = _lineage(module, "TrainConfig")
    annotations = {_id(one.target): one.annotation for one in fields.body if isinstance(one, ast.AnnAssign)}
    return Registered(tuple(annotations), _plain_types(module, annotations))


@cache
def _read(kind: Component) -> dict[str, Registered]:
    package, registry = REGISTRIES[kind]
    module = f"fairflac.{package}"
    value = _value(module, LISTED.get(registry, registry))
    found = {}
    for key, symbol in _members(value):
        lineage = list(_lineage(module, symbol))
        if lineage:
            flags = {flag: _constant(lineage, flag, False) for flag in FLAGS}
            where, options = _options(lineage)
            types = _plain_types(where, options)
            found[key or _constant(lineage, "name", "")] = Registered(tuple(options), types, flags)
    return found


def _value(module: str, variable: str) -> ast.expr | None:
    """What a module assigns to a variable."""
    for one in _tree(module).body:
        if isinstance(one, ast.AnnAssign) and _id(one.target) == variable:
            return one.value
        if isinstance(one, ast.Assign) and _id(one.targets[0]) == variable:
            return one.value
    return None


def _members(value: ast.expr | None) -> Iterator[tuple[str | None, str]]:
    """Key (where it is written there) and symbol of each member."""
    if isinstance(value, ast.Dict):
        for key, member in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(member, ast.Name):
                yield str(key.value), member.id
        return
    for node in ast.walk(value) if value is not None else ():
        if isinstance(node, ast.Name):
            yield None, node.id


Definition = tuple[str, ast.ClassDef | ast.FunctionDef]  # and the module that it stands in


def _lineage(module: str, symbol: str) -> Iterator[Definition]:
    """A class or function that `module` has or imports from here, then the parents of the class."""
    for one in _tree(module).body:
        if isinstance(one, ast.ClassDef | ast.FunctionDef) and one.name == symbol:
            yield module, one
            for base in getattr(one, "bases", ()):
                yield from _lineage(module, _id(base))
        elif symbol in _imported(one):
            yield from _lineage(_imported(one)[symbol], symbol)


def _imported(line: ast.stmt) -> dict[str, str]:
    """What a line imports from this package: names by module."""
    if not isinstance(line, ast.ImportFrom) or not (line.module or "").startswith("fairflac."):
        return {}
    return {alias.name: str(line.module) for alias in line.names}


def _options(lineage: list[Definition]) -> tuple[str, dict[str, ast.expr | None]]:
    """Of the nearest constructor, with their annotations, and the module that it stands in."""
    for module, one in lineage:
        functions = [one] if isinstance(one, ast.FunctionDef) else one.body
        for function in functions:
            if isinstance(function, ast.FunctionDef) and function.name in ("__init__", one.name):
                return module, {argument.arg: argument.annotation for argument in function.args.kwonlyargs}
    return "", {}


def _plain_types(module: str, annotations: Mapping[str, ast.expr | None]) -> dict[str, Any]:
    """Those that are spelled with nothing but `PLAIN`."""
    return {name: one for name, annotation in annotations.items() if (one := _plain_type(module, annotation))}


def _plain_type(module: str, annotation: ast.expr | None) -> Any:
    """None: it is not plain."""
    known = dict(PLAIN)
    for node in ast.walk(annotation) if annotation else ():
        if isinstance(node, ast.Name) and node.id not in known:
            known[node.id] = _plain_type(*_alias(module, node.id))
    if annotation is None or None in known.values():
        return None
    return eval(ast.unparse(annotation), known)  # a line of our own source


def _alias(module: str, name: str) -> tuple[str, ast.expr | None]:
    """What a name stands for that `module` assigns or imports from here, and the module where."""
    for one in _tree(module).body:
        if name in _imported(one):
            return _alias(_imported(one)[name], name)
    return module, _value(module, name)


def _constant(lineage: list[Definition], name: str, default: Any) -> Any:
    """What the nearest class assigns to `name`."""
    for _, one in lineage:
        for line in one.body:
            if isinstance(line, ast.AnnAssign) and _id(line.target) == name:
                return line.value.value if isinstance(line.value, ast.Constant) else default
    return default


def _id(node: ast.AST) -> str:
    return str(getattr(node, "id", ""))


@cache
def _tree(module: str) -> ast.Module:
    place = files("fairflac").joinpath(*module.split(".")[1:])
    source = (
        place.joinpath("__init__.py")
        if place.is_dir()
        else files("fairflac").joinpath(*module.split(".")[1:-1], f"{module.rpartition('.')[2]}.py")
    )
    return ast.parse(source.read_text())
