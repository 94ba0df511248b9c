"""`fairflac data get|check NAME`."""

import json as json_format
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fairflac.cli import completion
from fairflac.cli.options import AllowOutside, Data, Json, LabelColumn, PathColumn, Strict

app = typer.Typer(help="Obtain datasets and check them.", no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[
    str,
    typer.Argument(help="mnist, cifar10 or a dataset (see fairflac list datasets).", autocompletion=completion.sources),
]


def _named(name: str) -> Any:
    """A source of raw files or a dataset: both have `get` and `check`."""
    from fairflac.config.options import registered, sources
    from fairflac.errors import unknown

    known = (*sources(), *registered("dataset"))
    if name not in known:
        unknown("dataset", name, known)

    from fairflac.data import DATASETS, SOURCES

    found: dict[str, Any] = {**SOURCES, **DATASETS}
    return found[name]


@app.command("get")
def get(
    name: Name,
    data: Data,
    source: Annotated[
        Path | None, typer.Option("--from", help="A folder or archive that has the files; no other source is tried.")
    ] = None,
    json: Json = False,
) -> None:
    """Obtain NAME: from where you say, else from public sources, by checksum; or read how to get it by hand."""
    fetch: Callable[..., None] = _named(name).get
    fetch(data, source, partial(typer.echo, err=json))
    if json:
        typer.echo(json_format.dumps({"name": name, "data": str(data)}, indent=1))


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(help="mnist, cifar10, a dataset, or a folder or table of your own images.")],
    data: Data,
    path_column: PathColumn = None,
    label_column: LabelColumn = None,
    allow_outside: AllowOutside = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Check that NAME is there and whole: counts, sizes, hashes. With your own images: what a run would see."""
    from fairflac.config.options import no_such_data, registered, sources

    path, known = Path(name).expanduser(), (*registered("dataset"), *sources())
    warnings: list[str] = []
    if name in known:
        lines = _named(name).check(data)
    elif path.exists():
        from fairflac.data.own import check_own_images
        from fairflac.data.own.sheet import ColumnChoice

        choice = ColumnChoice(path_column, label_column)
        lines, warnings = check_own_images(path, data, strict=strict, allow_outside=allow_outside, choice=choice)
    else:
        no_such_data(name, known)
    if json:
        typer.echo(json_format.dumps({"name": name, "facts": list(lines), "warnings": list(warnings)}, indent=1))
        return
    for line in lines:
        typer.echo(line)
    for warning in warnings:
        typer.secho(warning, fg="yellow")
    if warnings:
        see = "the warning" if len(warnings) == 1 else f"the {len(warnings)} warnings"
        typer.secho(f"{name}: can be used; see {see} above", fg="yellow")
    else:
        typer.secho(f"{name}: all is well", fg="green")
