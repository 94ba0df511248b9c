"""Methods, datasets, networks and metrics of a user's own, from a file or an installed package: see docs/plugins.md.

Nothing here imports torch; a plug-in usually does.
"""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from fairflac.errors import UserError

VARIABLE = "FAIRFLAC_PLUGINS"  # files, separated as in PATH; worker processes inherit it
# What a plug-in may have, and the package whose registry it goes into. The registry is called METHODS, DATASETS, …, and
# so is the variable of a plug-in file; the entry points are fairflac.methods, fairflac.datasets, …
PACKAGES = {
    "methods": "fairflac.methods",
    "datasets": "fairflac.data",
    "nets": "fairflac.nets",
    "metrics": "fairflac.metrics",
}
T = TypeVar("T")
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")  # it becomes the name of a folder
_plugged: dict[tuple[str, str], str] = {}  # group and name → the plug-in that has it
_done: set[str] = set()  # plug-ins that are loaded


def add_files(paths: Sequence[Path]) -> None:
    """Load these files too, here and in processes started from here."""
    for path in paths:
        if not path.is_file():
            raise UserError(f"there is no plug-in '{path}': check the path")
    known = [*_files(), *(str(path.resolve()) for path in paths)]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys(known))


def load(groups: Sequence[str] = tuple(PACKAGES), sent: dict[str, str] | None = None) -> None:
    """Register every plug-in that is not registered yet: all files, and of installed packages these groups.

    `sent` has the text of files by path, from a machine whose files may not be here.
    """
    for path in _files() if sent is None else sent:
        with _once(path) as first:
            if first:
                _load_file(path, _text(path) if sent is None else sent[path])
    for group in groups:
        for entry in _installed(group):
            origin = f"{entry.name} of {entry.value}"
            with _once(f"{group} {origin}") as first:
                if first:
                    _register(group, entry.name, _attempt(origin, entry.load), origin)


@contextmanager
def _once(plugin: str) -> Iterator[bool]:
    """Is it the first time? One that fails, fails again. A plug-in may come here while it is loaded."""
    first = plugin not in _done
    _done.add(plugin)
    try:
        yield first
    except UserError:
        _done.discard(plugin)
        raise


def texts() -> dict[str, str]:
    """The plug-in files with what is in them, for a worker on another machine."""
    return {path: _text(path) for path in _files()}


def as_words() -> list[str]:
    """For a command that needs the same plug-in files."""
    return [word for path in _files() for word in ("--plugin", os.path.relpath(path))]


def is_plugged(group: str, name: str) -> bool:
    """Does a plug-in have it?"""
    return (group, name) in _plugged


def _files() -> list[str]:
    return [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]


@cache
def _installed(group: str) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=f"fairflac.{group}"))


def _text(path: str) -> str:
    if not Path(path).is_file():
        raise UserError(f"there is no plug-in '{path}': check {VARIABLE}")
    try:
        return Path(path).read_text()
    except UnicodeDecodeError as error:
        raise UserError(f"the plug-in '{path}' is no text: give a Python file") from error


def _attempt(origin: str, work: Callable[[], T]) -> T:
    """What goes wrong in the code of a plug-in is told in one line."""
    try:
        return work()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"the plug-in {origin} cannot be loaded: {type(error).__name__}: {error}") from error


def _load_file(path: str, text: str) -> None:
    module = ModuleType(f"fairflac_plugin_{Path(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    _attempt(path, lambda: exec(compile(text, path, "exec"), module.__dict__))
    found = [(group, name, thing) for group in PACKAGES for name, thing in _offered(module, group)]
    if not found:
        variables = ", ".join(group.upper() for group in PACKAGES)
        raise UserError(f"the plug-in {path} offers nothing: it needs one of {variables}, as docs/plugins.md shows")
    for group, name, thing in found:
        _register(group, name, thing, path)


def _offered(module: ModuleType, group: str) -> Iterator[tuple[str, Any]]:
    """Names and things of one kind in a file: networks are a dictionary by name, all others know their names."""
    offered = getattr(module, group.upper(), ())
    if (group == "nets") != isinstance(offered, dict) and offered:
        shape = "a dictionary by name" if group == "nets" else "a list"
        raise UserError(f"the plug-in {module.__file__}: {group.upper()} must be {shape}")
    yield from offered.items() if isinstance(offered, dict) else ((getattr(one, "name", ""), one) for one in offered)


def _register(group: str, name: str, thing: Any, origin: str) -> None:
    """Under its name, if it has what it needs."""
    registry = getattr(import_module(PACKAGES[group]), group.upper())
    name = getattr(thing, "name", name) if group != "nets" else name
    what = f"the plug-in {origin}: {group.removesuffix('s')} '{name}'"
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UserError(f"{what} needs a name of small letters, digits and hyphens")
    if name in registry or (group, name) == ("metrics", "accuracy"):
        other = _plugged.get((group, name), "fairflac itself")
        raise UserError(f"{what} has a name that {other} has already: choose another")
    if lack := _attempt(origin, lambda: LACKS[group](thing)):
        raise UserError(f"{what} {lack}")
    registry[name] = thing
    _plugged[group, name] = origin


def _method_lacks(method: Any) -> str | None:
    from fairflac.methods import Method

    arguments = ("net", "spec", "biased_net") if getattr(method, "needs_biased_net", False) else ("net", "spec")
    return _class_lacks(method, Method, "fairflac.methods.Method") or _call_lacks(method, arguments)


def _dataset_lacks(dataset: Any) -> str | None:
    from fairflac.data import Dataset

    lack = _class_lacks(dataset, Dataset, "fairflac.data.Dataset")
    if lack is None and not hasattr(dataset, "attributes"):
        return "lacks attributes: the names of its bias attributes, or None"
    return lack or _call_lacks(dataset, ("seed",))


def _net_lacks(net: Any) -> str | None:
    return _call_lacks(net, ("num_classes",)) if callable(net) else "is not callable"


def _metric_lacks(metric: Any) -> str | None:
    from fairflac.metrics import Metric

    return None if isinstance(metric, Metric) else "is no fairflac.metrics.Metric"


LACKS: dict[str, Callable[[Any], str | None]] = {
    "methods": _method_lacks,
    "datasets": _dataset_lacks,
    "nets": _net_lacks,
    "metrics": _metric_lacks,
}


def _class_lacks(thing: Any, parent: type, words: str) -> str | None:
    if not inspect.isclass(thing) or not issubclass(thing, parent):
        return f"is no child of {words}"
    missing = sorted(getattr(thing, "__abstractmethods__", ()))
    return f"lacks {', '.join(missing)}" if missing else None


def _call_lacks(thing: Any, arguments: tuple[str, ...]) -> str | None:
    """It is called with these arguments in their order, and with its options by name, which need types."""
    from fairflac.config.options import options_of  # which looks names up here

    signature = inspect.signature(thing)
    options = [one for one in signature.parameters.values() if one.kind is inspect.Parameter.KEYWORD_ONLY]
    if untyped := [one.name for one in options if one.annotation is inspect.Parameter.empty]:
        return f"lacks a type for its option {untyped[0]}"
    options_of(thing)
    try:
        signature.bind(*arguments, **{one.name: None for one in options})
    except TypeError:
        return f"must take ({', '.join(arguments)}), and its options by keyword only"
    return None
