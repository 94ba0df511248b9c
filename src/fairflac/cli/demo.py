"""`fairflac demo`."""

from pathlib import Path

from fairflac.cli.options import Data, Json, Logger, LoggerChoice, Runs, Seed, Set, echo


def demo_command(
    data: Data,
    runs: Runs = Path("runs/demo"),
    seed: Seed = 0,
    changes: Set = [],  # noqa: B006 (typer copies it)
    logger: Logger = LoggerChoice.auto,
    json: Json = False,
) -> None:
    """Show the whole thing on 4,000 coloured digits: a vanilla model, FLAC and FLAC-B, a table and a report.

    Needs no network. Stop it with Ctrl-C; started again, it goes on where it was.
    """
    from fairflac.api.experiments import demo
    from fairflac.config.options import parse_assignments
    from fairflac.runs.directory import Workspace

    made = demo(seed=seed, workspace=Workspace(runs, data, logger=logger.value), settings=parse_assignments(changes))

    from fairflac.reporting.results import rows
    from fairflac.reporting.text import as_json, as_text

    table = rows(made.runs)
    echo(as_json(table) if json else f"\n{as_text(table)}")
    echo(f"\nreport: {made.report}", err=json)
