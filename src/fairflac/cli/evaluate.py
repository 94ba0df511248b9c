"""`fairflac evaluate RUN`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Data, Json, Set


class SplitName(StrEnum):
    train = "train"
    validation = "validation"
    test = "test"


def evaluate_command(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    data: Data,
    split: Annotated[SplitName, typer.Option(help="Which part of the data.")] = SplitName.test,
    on: Annotated[str | None, typer.Option(help="Another dataset with the same classes.")] = None,
    changes: Set = [],  # noqa: B006 (typer copies it)
    json: Json = False,
) -> None:
    """Predict a split anew with the trained model of RUN and print its metrics, with 95 % intervals.

    With --on, a split of another dataset; --set then changes settings of that dataset.
    """
    import json as json_format
    from dataclasses import replace

    from fairflac.config.names import check_options
    from fairflac.config.options import parse_assignments
    from fairflac.errors import UserError
    from fairflac.runs.directory import Run

    if changes and not on:
        raise UserError("--set changes the dataset that --on names: give --on, or leave out --set")
    settings = parse_assignments(changes)
    if on:
        check_options("dataset", on, settings)
    opened = Run.finished(run)

    from fairflac.reporting.naming import Names, labels, name_of
    from fairflac.reporting.text.results import measurement_json, measurement_text
    from fairflac.training.build import load_config, load_method, load_other, load_split
    from fairflac.training.engine import make_fabric
    from fairflac.training.evaluate import predictions

    config, method = load_config(opened), load_method(opened)
    if on:
        dataset = load_other(on, settings, method.spec, config.seed or 0, data, split.value)
    else:
        dataset = load_split(config, data, split.value)
    if dataset is None:
        raise UserError(f"{on or config.dataset} has no {split} split in this run: it was trained with validation = 0")
    fabric = make_fabric()
    table = predictions(method.to(fabric.device), dataset, fabric)
    if split is SplitName.test and not on:
        stored = opened.predictions  # what the bias model named, which need not be at hand
        table = replace(table, guess=stored.guess, guess_counts=stored.guess_counts)
    names = Names(list(method.spec.classes), {})
    training_images = opened.result.get("training_images", []) if opened.done else []
    if json:
        place = {"run": str(run), "dataset": on or config.dataset, "split": split.value, "n": len(table)}
        typer.echo(json_format.dumps({**place, **measurement_json(table, names, training_images)}, indent=1))
        return
    where = f"{on or name_of(opened.config)}, {split} split"
    typer.echo(f"{config.method} (labels: {labels(opened).cell}) on {where}, seed {config.seed}, {len(table)} images")
    typer.echo(measurement_text(table, names, training_images))
