"""`fairflac train DATASET METHOD`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import (
    AnySeed,
    Data,
    DatasetName,
    Json,
    Logger,
    LoggerChoice,
    MethodName,
    Runs,
    Set,
    Strict,
    echo,
)


def train_command(
    data: Data,
    dataset: Annotated[str | None, DatasetName] = None,
    method: Annotated[str | None, MethodName] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="In place of both: config.toml of a run, with all its settings.")
    ] = None,
    runs: Runs = Path("runs"),
    seed: AnySeed = None,
    changes: Set = [],  # noqa: B006 (typer copies it)
    devices: Annotated[int, typer.Option("--devices", min=1, help="Processes or GPUs on this machine.")] = 1,
    num_nodes: Annotated[int, typer.Option("--num-nodes", min=1, help="Machines.")] = 1,
    precision: Annotated[str | None, typer.Option(help="auto, 32-true, bf16-mixed or 16-mixed.")] = None,
    resume: Annotated[bool, typer.Option("--resume/--restart", help="Go on from the last checkpoint, or anew.")] = True,
    logger: Logger = LoggerChoice.auto,
    strict: Strict = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write a page about the run.")] = True,
    json: Json = False,
) -> None:
    """Train METHOD on DATASET (and first its bias model, where it needs one), then evaluate on the test split.

    A run that is done is not trained again; one that was stopped goes on where it was. Every run keeps a config.toml:
    with --config it is trained anew elsewhere, and --set and --seed change what it says.
    """
    from fairflac.api.runs import train, what_to_train
    from fairflac.config.options import parse_assignments
    from fairflac.runs.directory import Workspace

    given = {"precision": precision, "strict": strict or None}
    settings = parse_assignments(changes) | {key: value for key, value in given.items() if value is not None}
    what_to_train(dataset, method, config, seed, settings)  # `--set seed=1` is a mistake, and no argument of `train`
    run = train(
        dataset,
        method,
        config=config,
        seed=seed,
        workspace=Workspace(runs, data, logger=logger.value),
        resume=resume,
        devices=devices,
        num_nodes=num_nodes,
        report=report,
        **settings,
    )
    if run is None:
        return  # another process reports

    from fairflac.reporting.checks import alarm_lines, alarms
    from fairflac.reporting.results import rows
    from fairflac.reporting.text import as_json, as_text

    table = rows([run])
    for lines in alarm_lines(alarms(run)):
        echo("\n  ".join(lines) + "\n", err=json)
    if table:
        echo(as_json(table) if json else as_text(table))
    else:  # a bias model: it has no groups, and is no row of results
        echo(f"bias model of {run.config['target']}: accuracy {run.result['test']['accuracy']:.1%}")
    echo(f"run: {run.path}", err=json)
    if table and report and run.report.exists():
        echo(f"report: {run.report}", err=json)
