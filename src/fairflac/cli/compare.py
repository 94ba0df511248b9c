"""`fairflac compare RUN RUN…`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Json, echo


def compare_command(
    runs: Annotated[list[Path], typer.Argument(help="Run directories: the first is compared with each of the others.")],
    json: Json = False,
) -> None:
    """Say whether a run is better than the first one, on the same test images, and whether that may be luck."""
    import json as json_format

    from fairflac.errors import UserError
    from fairflac.metrics.comparison import compare
    from fairflac.reporting.text import comparison_text
    from fairflac.runs.directory import Run

    if len(runs) < 2:
        raise UserError("compare needs two run directories or more")
    first, *others = (Run.finished(path) for path in runs)
    base = first.predictions
    found = {str(other.path): compare(base, other.predictions) for other in others}
    if json:
        differences = {run: {name: one._asdict() for name, one in numbers.items()} for run, numbers in found.items()}
        echo(json_format.dumps({"first": str(first.path), "others": differences}, indent=1))
        return
    for other, numbers in zip(others, found.values(), strict=True):
        echo(comparison_text(first, other, numbers))
