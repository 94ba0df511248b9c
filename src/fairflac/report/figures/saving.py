"""Figures of runs as files."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairflac.errors import UserError
from fairflac.files import replacing
from fairflac.report.figures.catalogue import NAMES, drawings
from fairflac.report.figures.drawing import NothingToDraw
from fairflac.report.figures.style import png, svg
from fairflac.report.models import by_data
from fairflac.runs import Run

LONGEST = 60  # letters of a dataset and its options in the name of a file


def save_figures(runs: Sequence[Run], folder: Path, only: Sequence[str] = ()) -> Iterator[str]:
    """Draw each as PNG and SVG; one line for each file, or for why there is none. At least one must come out."""
    parts = by_data(runs)
    if not parts:
        raise UserError("there is nothing to draw: none of these runs is a model of the classes")
    ends = dict(zip(parts, _endings(list(parts)), strict=True))
    written = 0
    for name, data, draw in drawings(runs, only or NAMES):
        stem = name + (ends[data] if data else "")
        try:
            drawing = draw()
        except NothingToDraw as reason:
            yield f"{stem}: not drawn, {reason}"
            continue
        for kind, content in (("png", png(drawing.figure)), ("svg", svg(drawing.figure))):
            path = folder / f"{stem}.{kind}"
            with replacing(path) as stream:
                stream.write(content)
            yield str(path)
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
