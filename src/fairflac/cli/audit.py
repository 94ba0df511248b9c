"""`fairflac audit MODEL DATA`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.evaluate import SplitName
from fairflac.cli.options import AllowOutside, Data, Json, Seed, Set, Strict

MODEL_HELP = "A run directory, an exported model, a TorchScript, ONNX or weight file, or module:function."
DATA_HELP = "A folder with a subfolder for each class, a CSV file, or a dataset (see fairflac list datasets)."


def audit_command(
    model: Annotated[str, typer.Argument(help=MODEL_HELP)],
    images: Annotated[str, typer.Argument(metavar="DATA", help=DATA_HELP)],
    data: Data,
    split: Annotated[
        SplitName | None, typer.Option(help="Which part of the data; test where there are parts, else all images.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write a page about the audit.")] = None,
    net: Annotated[str | None, typer.Option(help="The network of a weight file, for example resnet18.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Pixels of a side, where the model does not say.")] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Names of the classes in the order of the model's outputs.")
    ] = None,
    attributes: Annotated[
        list[str], typer.Option("--attribute", metavar="COLUMN", help="Of a CSV file; all others if not given.")
    ] = [],  # noqa: B006 (typer copies it)
    seed: Seed = 0,
    changes: Set = [],  # noqa: B006
    allow_outside: AllowOutside = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Say whether MODEL leans on a shortcut, on which, and how sure that is; no attribute labels are needed.

    Simple cues (colour, brightness, fine detail, border, corners) are exchanged between images: does the model follow
    them? A small bias model, trained on the spot, shows where what is easy goes against the class. Columns of a CSV
    file are attributes, and the groups they make are measured too.
    """
    import json as json_format

    from fairflac.config.names import check_images, check_options, known, named
    from fairflac.config.options import parse_assignments
    from fairflac.errors import UserError
    from fairflac.system.files import check_writable

    if output is not None and output.is_dir():
        raise UserError(f"'{output}' is a folder: name the page too, for example -o {output / 'audit.html'}")
    if output is not None:
        check_writable(output)
    check_images(images)
    settings = parse_assignments(changes)
    if images in named("dataset"):
        check_options("dataset", images, settings)
    if net is not None:
        known("net", net.partition(" ")[0])

    from fairflac.auditing.page import as_json, as_text, write
    from fairflac.auditing.pipeline import audit
    from fairflac.auditing.subject import Choice, subject
    from fairflac.inference.open import open_model

    opened = open_model(model, net=net, size=size, classes=tuple(classes.split(",")) if classes else None)
    choice = Choice(
        name=images,
        root=data,
        split=None if split is None else split.value,
        changes=settings,
        columns=tuple(attributes) or None,
        allow_outside=allow_outside,
        strict=strict,
    )
    found = audit(opened, subject(opened, choice), seed=seed)
    typer.echo(json_format.dumps(as_json(found), indent=1) if json else as_text(found))
    if output is not None:
        write(found, output)
        typer.echo(f"page: {output}", err=json)
