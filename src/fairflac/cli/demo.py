"""`fairflac demo`."""

from pathlib import Path

import typer

from fairflac.cli.options import Data, Json, Runs, Seed, Set

DATASET = "biased-digits"
METHODS = ("vanilla", "flac", "flac-b")


def demo(
    data: Data,
    runs: Runs = Path("runs/demo"),
    seed: Seed = 0,
    changes: Set = [],  # noqa: B006 (typer copies it)
    json: Json = False,
) -> None:
    """Show the whole thing on 4,000 coloured digits: a vanilla model, FLAC and FLAC-B, a table and a report.

    Needs no network. Stop it with Ctrl-C; started again, it goes on where it was.
    """
    from fairflac.config.options import parse_assignments
    from fairflac.config.settings import arrange

    settings = parse_assignments(changes)
    for method in METHODS:
        arrange(DATASET, method, settings)

    from fairflac.config.run_config import resolve
    from fairflac.reporting.page.render import write
    from fairflac.reporting.text.tables import as_json, as_text, rows
    from fairflac.runs.directory import Workspace
    from fairflac.training.pipeline import train_config

    configs = [resolve(DATASET, method, seed, settings) for method in METHODS]
    share = 100 * (1 - configs[0].data_options["q"])
    typer.echo(
        f"Digits on coloured backgrounds: the colour gives the class away, but for {share:.3g} in 100. "
        "Who reads the digit?",
        err=json,
    )
    finished = [run for config in configs if (run := train_config(config, Workspace(runs, data)))]
    report = runs / "report.html"
    write(finished, report, title="fairflac demo: does the model read the digit or its colour?")
    typer.echo(as_json(rows(finished)) if json else f"\n{as_text(rows(finished))}")
    typer.echo(f"\nreport: {report}", err=json)
