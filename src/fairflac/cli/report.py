"""`fairflac report RUN…`."""

from pathlib import Path
from typing import Annotated

import typer


def report_command(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders with runs in them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one page about RUNS: does a model lean on a shortcut, what helped, how sure that is, and what it cost."""
    from fairflac.api.runs import report

    found = report(runs, output)

    from fairflac.reporting.naming import is_result

    results = sum(map(is_result, found))
    typer.echo(f"{results} run{'' if results == 1 else 's'} in {output}")
