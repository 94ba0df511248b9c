"""`fairflac embed MODEL IMAGES… -o features.npy`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Json, Strict, echo


def embed_command(
    model: Annotated[str, typer.Argument(help="A run directory, or a file of weights with --net.")],
    images: Annotated[list[Path], typer.Argument(help="Image files, or folders with images at any depth.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A .npy or .parquet file.")] = Path("features.npy"),
    json: Json = False,
    strict: Strict = False,
    net: Annotated[
        str | None, typer.Option("--net", help="Of a file of weights: its network, 'NAME KEY=VALUE …'.")
    ] = None,
    size: Annotated[int | None, typer.Option("--size", help="Side of its images, where the file does not say.")] = None,
) -> None:
    """Write the features of IMAGES (the penultimate layer of MODEL) as a matrix, for search engines and other programs.

    A .npy file has a row for each image in sorted order, and an .index.csv file beside it says of which; a .parquet
    file has both. What cannot be read has no row.
    """
    import json as json_format

    from fairflac.api.images import embed
    from fairflac.system.progress import tell

    found = embed(model, images, output=output, net=net, size=size, strict=strict)
    n, width = found.features.shape
    if json:
        said = {"files": [str(path) for path in found.files], "images": n, "features": width}
        echo(json_format.dumps({**said, "unreadable": found.unreadable}, indent=1))
    else:
        echo(f"{n} images, {width} features each: {' and '.join(map(str, found.files))}")
    if found.unreadable:
        tell(f"{len(found.unreadable)} files cannot be read as images; left out")
