"""`fairflac predict MODEL IMAGES…`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import AllowOutside, Json, PathColumn, Strict, echo


def predict_command(
    model: Annotated[str, typer.Argument(help="A run directory, a model file, or module:function.")],
    images: Annotated[
        list[Path],
        typer.Argument(help="Image files, folders with images at any depth, or tables (CSV, Parquet) of images."),
    ],
    top: Annotated[int, typer.Option("--top", min=1, help="How many classes to name for each image.")] = 1,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a .csv or .json file.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of a table.")] = False,
    json: Json = False,
    strict: Strict = False,
    net: Annotated[
        str | None, typer.Option("--net", help="Of a file of weights: its network, 'NAME KEY=VALUE …'.")
    ] = None,
    size: Annotated[int | None, typer.Option("--size", help="Side of its images, where the file does not say.")] = None,
    classes: Annotated[str | None, typer.Option("--classes", help="Names of classes in order, with commas.")] = None,
    path_column: PathColumn = None,
    allow_outside: AllowOutside = False,
) -> None:
    """Name the class of each of IMAGES, with its probability, in sorted order.

    Decoding, size and normalisation are those that MODEL was trained with.
    """
    from fairflac.api.images import predict
    from fairflac.errors import UserError
    from fairflac.system.files import check_writable, write_text
    from fairflac.system.progress import tell

    if csv and json:
        raise UserError("--csv and --json exclude each other: choose one")
    if output and output.suffix not in (".csv", ".json"):
        raise UserError(f"-o {output}: what to write follows from the ending, .csv or .json")
    if output:
        check_writable(output)
    names = [name.strip() for name in classes.split(",")] if classes else None
    found = predict(
        model,
        images,
        top=top,
        net=net,
        size=size,
        classes=names,
        path_column=path_column,
        allow_outside=allow_outside,
        strict=strict,
    )

    from fairflac.inference import predict as predicted

    broken = predicted.unreadable_line(found)
    kind = output.suffix if output else ".csv" if csv else ".json" if json else ".txt"
    text = {".csv": predicted.as_csv, ".json": predicted.as_json, ".txt": predicted.as_text}[kind](found)
    if output:
        write_text(output, text)
        echo(f"{len(predicted.readable(found))} images in {output}")
    else:
        echo(text.rstrip("\n"))
    if broken:
        tell(f"{broken}; left out", even_quietly=True)
