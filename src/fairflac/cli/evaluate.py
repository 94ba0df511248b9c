"""`fairflac evaluate RUN`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Data, Json


class SplitName(StrEnum):
    train = "train"
    validation = "validation"
    test = "test"


def evaluate_command(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    data: Data,
    split: Annotated[SplitName, typer.Option(help="Which part of the data.")] = SplitName.test,
    json: Json = False,
) -> None:
    """Predict a split anew with the trained model of RUN and print its metrics."""
    import json as json_format

    from fairflac.build import load_config, load_method, load_split
    from fairflac.engine import make_fabric
    from fairflac.errors import UserError
    from fairflac.evaluate import predictions
    from fairflac.metrics import summary
    from fairflac.runs import Run

    opened = Run.open(run)
    config = load_config(opened)
    dataset = load_split(config, data, split.value)
    if dataset is None:
        raise UserError(f"{config.dataset} has no {split} split in this run: it was trained with validation = 0")
    fabric = make_fabric(config.train.precision)
    table = predictions(load_method(opened).to(fabric.device), dataset, fabric)
    numbers = summary(table)
    if json:
        typer.echo(json_format.dumps({"run": str(run), "split": split.value, **numbers}, indent=1))
        return
    typer.echo(f"{config.method} on {config.dataset}, {split} split, seed {config.seed}, {numbers.pop('n')} images")
    for name, value in numbers.items():
        typer.echo(f"  {name.replace('_', ' '):<14}{value:7.1%}")
