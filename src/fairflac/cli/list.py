"""`fairflac list methods|datasets|nets|recipes|api`."""

import inspect
import json as json_format
from enum import StrEnum
from typing import Annotated

import typer

from fairflac.cli.options import Json, echo
from fairflac.config import plugins
from fairflac.errors import UserError
from fairflac.system.tables import text_table


class ListName(StrEnum):
    methods = "methods"
    datasets = "datasets"
    nets = "nets"
    recipes = "recipes"
    api = "api"


Markdown = Annotated[bool, typer.Option("--markdown", help="Of methods, datasets and api: a page on each.")]


def list_names(
    kind: Annotated[ListName, typer.Argument(help="What to list.")], json: Json = False, markdown: Markdown = False
) -> None:
    """List what there is, with one line on each."""
    if markdown:
        return _print_page(kind)
    entries = _entries(kind)
    if json:
        echo(json_format.dumps(entries, indent=1))
        return
    echo(text_table(list(entries.items()), "<<"))


def _entries(kind: ListName) -> dict[str, str]:
    plugins.load()
    if kind is ListName.methods:
        from fairflac.api.pages import sees
        from fairflac.methods import METHODS
        from fairflac.methods.base import describe

        return {name: f"{describe(method).headline} [{sees(method)}]" for name, method in METHODS.items()}
    if kind is ListName.datasets:
        from fairflac.data import DATASETS

        return {name: _with_licence(dataset) for name, dataset in DATASETS.items()}
    if kind is ListName.nets:
        from fairflac.nets import NETS

        return {name: _first_line(net) for name, net in NETS.items()}
    if kind is ListName.api:
        import fairflac

        return {name: _first_line(getattr(fairflac, name)) for name in fairflac.__all__ if name != "__version__"}
    from fairflac.config.recipes import recipe_methods, recipe_names

    return {name: ", ".join(recipe_methods(name)) for name in recipe_names()}


def _print_page(kind: ListName) -> None:
    if kind is ListName.methods:
        from fairflac.api.pages import methods_page as page
    elif kind is ListName.datasets:
        from fairflac.api.pages import datasets_page as page
    elif kind is ListName.api:
        from fairflac.api.pages import api_page as page
    else:
        raise UserError("--markdown is for methods, datasets and api: fairflac list methods --markdown")
    echo(page().removesuffix("\n"))


def _with_licence(dataset: type) -> str:
    """The first line of a dataset, which names its paper, and its licence."""
    licence = (inspect.getdoc(dataset) or "").partition("Licence: ")[2].partition("\n")[0]
    return f"{_first_line(dataset)} [{licence}]"


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]
