"""`fairflac report RUN…`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Json, echo


def report_command(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders with runs in them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
    json: Json = False,
) -> None:
    """Write one page about RUNS: does a model lean on a shortcut, what helped, how sure that is, and what it cost."""
    import json as json_format

    from fairflac.api.runs import report

    found = report(runs, output)

    from fairflac.reporting.naming import is_result

    if json:
        places = [str(run.path) for run in found]
        echo(json_format.dumps({"page": str(output), "runs": places}, indent=1))
        return
    results = sum(map(is_result, found))
    echo(f"{results} run{'' if results == 1 else 's'} in {output}")
