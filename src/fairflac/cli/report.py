"""`fairflac report RUN…`."""

from pathlib import Path
from typing import Annotated

import typer


def report_command(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders with runs in them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")] = Path("report.html"),
) -> None:
    """Write one page about RUNS: does a model lean on a shortcut, what helped, how sure that is, and what it cost."""
    from fairflac.errors import UserError
    from fairflac.reporting.naming import is_result
    from fairflac.reporting.page.render import write
    from fairflac.runs.directory import finished_runs
    from fairflac.system.files import check_writable

    if output.is_dir():
        raise UserError(f"'{output}' is a folder: name the page too, for example -o {output / 'report.html'}")
    check_writable(output)
    found = finished_runs(runs)
    write(found, output)
    results = sum(map(is_result, found))
    typer.echo(f"{results} run{'' if results == 1 else 's'} in {output}")
