"""`fairflac data get|check NAME`."""

import json as json_format
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fairflac.cli import completion
from fairflac.cli.options import AllowOutside, Data, Json, LabelColumn, PathColumn, Strict, echo

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
    fetch(data, source, partial(echo, err=json))
    if json:
        echo(json_format.dumps({"name": name, "data": str(data)}, indent=1))


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
        echo(json_format.dumps({"name": name, "facts": list(lines), "warnings": list(warnings)}, indent=1))
        return
    for line in lines:
        echo(line)
    for warning in warnings:
        echo(warning, colour="yellow")
    if warnings:
        see = "the warning" if len(warnings) == 1 else f"the {len(warnings)} warnings"
        echo(f"{name}: can be used; see {see} above", colour="yellow")
    else:
        echo(f"{name}: all is well", colour="green")


@app.command("make-csv")
def make_csv(
    folder: Annotated[Path, typer.Argument(help="Images with names such as climbing_12.jpg.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The table; FOLDER/images.csv if not given.")
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="How names are read: '{label}_*', with further fields as columns, or a regular expression with "
            "(?P<label>…)."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a table that is there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")] = False,
    json: Json = False,
) -> None:
    """Write a table of images whose class is in their name, and show what was understood.

    Without a pattern the class stands before or behind a number. Names that could mean several things are refused.
    """
    import os

    from fairflac.data.own.flat_names import read_flat_names
    from fairflac.errors import UserError
    from fairflac.system.files import check_writable, write_text
    from fairflac.system.tables import text_table

    found = read_flat_names(folder, pattern)
    target = output or folder / "images.csv"
    above = os.path.relpath(folder, target.parent)
    text = found.as_csv(above)
    same = target.is_file() and target.read_bytes() == text.encode()
    counts, more = found.counts, [name for name in found.columns if name != "label"]
    if not json:
        echo(f"{len(found.paths):,} names in {folder}, read as {found.reading}:")
        shown = [[label, f"{counts[label]:,}", found.example(label)] for label in sorted(counts)]
        echo(text_table([["class", "images", "for example"], *shown]))
        if more:
            echo(f"further columns: {', '.join(more)}")
    if not dry_run and target.exists() and not overwrite and not same:
        raise UserError(f"'{target}' is there already: name another with -o, or give --overwrite to replace it")
    replaced = target.exists()
    if not dry_run:
        check_writable(target)
        write_text(target, text)
    state = "not written" if dry_run else "unchanged" if same else "replaced" if replaced else "written"
    if json:
        about = {"folder": str(folder), "reading": found.reading, "classes": dict(sorted(counts.items()))}
        echo(json_format.dumps({**about, "columns": more, "table": str(target), "state": state}, indent=1))
        return
    if dry_run:
        return
    echo(f"table: {target} ({state})")
    outside = " --allow-outside" if above.startswith("..") else ""
    echo(f"next:  fairflac debias {target}{outside}")
