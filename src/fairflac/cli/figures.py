"""`fairflac figures RUN… -o FOLDER`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Json, echo


def figures(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run directories, or folders of them.")],
    folder: Annotated[Path, typer.Option("-o", "--output", help="Folder for the figures.")],
    only: Annotated[list[str], typer.Option("--only", metavar="NAME", help="This figure; may be repeated.")] = [],  # noqa: B006 (typer copies it)
    json: Json = False,
) -> None:
    """Draw the figures of finished runs, each as PNG and SVG: groups, pairs, distances, neighbours, maps, training."""
    import json as json_format

    from fairflac.errors import unknown
    from fairflac.reporting.figures import NAMES, save_figures
    from fairflac.runs.directory import finished_runs
    from fairflac.system.files import check_folder

    check_folder(folder)
    for name in only:
        if name not in NAMES:
            unknown("figure", name, NAMES)
    said = []
    for line in save_figures(finished_runs(runs), folder, only):
        said.append(line)
        if not json:
            echo(line)
    if json:
        drawn = [line for line in said if Path(line).is_file()]
        missing = [line for line in said if line not in drawn]
        echo(json_format.dumps({"files": drawn, "not_drawn": missing}, indent=1))
