"""`fairflac export RUN --to FORMAT`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Json, echo


def export_command(
    run: Annotated[Path, typer.Argument(help="A run directory, or what debias left.")],
    to: Annotated[str, typer.Option("--to", help="The kind of file: safetensors, onnx or torchscript.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file; model.* in RUN without it.")] = None,
    licence: Annotated[
        str, typer.Option(help="Of the model, as model hubs name it: apache-2.0, cc-by-4.0, …")
    ] = "other",
    json: Json = False,
) -> None:
    """Write the trained model of RUN as a file for other programs, and a model card beside it.

    The file is opened again and compared with RUN on test images before it is kept.
    """
    import json as json_format

    from fairflac.api.runs import export

    done = export(run, to, output, licence=licence)
    if json:
        places = {"file": str(done.file), "card": str(done.card), "picture": str(done.picture)}
        size = {"bytes": done.file.stat().st_size}
        steps = {"preprocessing": str(done.preprocessing)} if done.preprocessing else {}
        echo(json_format.dumps({**places, **size, **steps, "parity": done.parity._asdict()}, indent=1))
        return
    difference = f"{done.parity.largest_difference:.0e}"
    echo(f"{done.file} ({done.file.stat().st_size:,} bytes)")
    echo(f"answers as the run does: {done.parity.images} images, largest difference of a logit {difference}")
    if done.preprocessing:
        echo(f"how images become its input: {done.preprocessing}")
    echo(f"model card: {done.card}")
