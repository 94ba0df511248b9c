"""`fairflac figures RUN… -o FOLDER`."""

import re
from pathlib import Path
from typing import Annotated

import typer

LONGEST = 60  # letters of a dataset and its options in the name of a file


def figures(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories, or folders of them.")],
    folder: Annotated[Path, typer.Option("-o", "--output", help="Folder for the figures.")],
    only: Annotated[list[str], typer.Option("--only", metavar="NAME", help="This figure; may be repeated.")] = [],  # noqa: B006 (typer copies it)
) -> None:
    """Draw the figures of finished runs, each as PNG and SVG: groups, pairs, distances, neighbours, maps, training."""
    from fairflac.errors import UserError, unknown
    from fairflac.files import replacing
    from fairflac.report.figures import NothingToDraw, png, svg
    from fairflac.report.figures.catalogue import NAMES, drawings
    from fairflac.report.models import by_data
    from fairflac.runs import finished_runs

    for name in only:
        if name not in NAMES:
            unknown("figure", name, NAMES)
    opened = finished_runs(runs)
    parts = by_data(opened)
    if not parts:
        raise UserError("there is nothing to draw: none of these runs is a model of the classes")
    ends = dict(zip(parts, _endings(list(parts)), strict=True))
    written = 0
    for name, data, draw in drawings(opened, only or NAMES):
        stem = name + (ends[data] if data else "")
        try:
            drawing = draw()
        except NothingToDraw as reason:
            typer.echo(f"{stem}: not drawn, {reason}")
            continue
        for kind, content in (("png", png(drawing.figure)), ("svg", svg(drawing.figure))):
            path = folder / f"{stem}.{kind}"
            with replacing(path) as stream:
                stream.write(content)
            typer.echo(str(path))
            written += 1
    if not written:
        raise UserError("no figure could be drawn from these runs; the lines above say why")


def _endings(data: list[str]) -> list[str]:
    """What tells the files of several datasets apart: their names and options, as far as file names can hold them."""
    if len(data) == 1:
        return [""]
    endings: list[str] = []
    for text in data:
        ending = "-" + re.sub(r"[^\w.]+", "-", text).strip("-.")[:LONGEST]
        taken = sum(other == ending or other.startswith(f"{ending}-no") for other in endings)
        endings.append(f"{ending}-no{taken + 1}" if taken else ending)
    return endings
