"""`fairflac debias IMAGES`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import (
    OWN_IMAGES,
    AllowOutside,
    Data,
    Json,
    LabelColumn,
    Logger,
    LoggerChoice,
    PathColumn,
    Seed,
    Set,
    Strict,
    echo,
)
from fairflac.config import plugins

BIAS_MODEL_HELP = (
    "discover: find groups in frozen features, without labels; early, gce, small or vanilla: trained on the same "
    "images; fairface:gender, race or age; a run directory; or a weight file."
)


def debias_command(
    path: Annotated[Path, typer.Argument(help=OWN_IMAGES)],
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for all of it; NAME-debiased here if not given."),
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time for all of it, such as 10m or 2h.")] = None,
    bias_model: Annotated[str, typer.Option("--bias-model", help=BIAS_MODEL_HELP)] = "discover",
    attribute: Annotated[
        str | None, typer.Option(help="Train against this attribute: a column; its gaps are filled by guesses.")
    ] = None,
    attribute_from: Annotated[
        Path | None,
        typer.Option(
            help="A table with that column, a folder with a subfolder for each value, or groups.csv of discover."
        ),
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[
        int, typer.Option(min=1, help="Train so many seeds, say mean and spread, keep the model in the middle.")
    ] = 1,
    changes: Set = [],  # noqa: B006 (typer copies it)
    path_column: PathColumn = None,
    label_column: LabelColumn = None,
    allow_outside: AllowOutside = False,
    strict: Strict = False,
    logger: Logger = LoggerChoice.auto,
    json: Json = False,
) -> None:
    """Find the shortcut, train a vanilla model and others against it, keep the best, and say what speaks for it.

    No attribute labels are needed. Which model is kept is decided on validation images by the groups that were found;
    where nothing speaks for a shortcut, the vanilla model is kept and that is said. Stopped, the same command goes on
    where it was.
    """
    from fairflac.api.images import debias
    from fairflac.config.options import parse_assignments
    from fairflac.runs.directory import CHOICE, Workspace

    result = debias(
        path,
        output=output,
        budget=budget,
        bias_model=bias_model,
        attribute=attribute,
        attribute_from=attribute_from,
        seed=seed,
        seeds=seeds,
        workspace=Workspace(data=data, logger=logger.value),
        path_column=path_column,
        label_column=label_column,
        allow_outside=allow_outside,
        strict=strict,
        settings=parse_assignments(changes),
    )

    from fairflac.debiasing.choice import over_seeds
    from fairflac.debiasing.pipeline import result_alarms
    from fairflac.reporting.results import rows
    from fairflac.reporting.text import as_text

    left = result.model.parent
    if json:
        echo((left / CHOICE).read_text())
        return
    table = rows([*result.runs.values(), *result.others])
    said = [*result_alarms(result.runs), *result.choice.reasons]
    spread = [f"Accuracy, {over_seeds([one.test for one in result.seeds])}."] if result.others else []
    echo("\n".join(["", *said, "", "On test images:", as_text(table), *spread, ""]))
    echo(f"model:  {result.model}\nreport: {result.report}\ncard:   {result.card}")
    if result.groups.page:
        echo(f"groups: {result.groups.page}")
    echo(f"run:    {result.kept.path}\n{result.took}\n")
    following = (
        ["predict", str(left), "IMAGES"],
        ["export", str(left), "--to", "onnx"],
        ["audit", str(left), str(path)],
    )
    echo("\n".join(["next:", *(f"  fairflac {shlex.join([*words, *plugins.as_words()])}" for words in following)]))
