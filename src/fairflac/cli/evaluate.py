"""`fairflac evaluate RUN`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Data, Json, Set, echo


class SplitName(StrEnum):
    train = "train"
    validation = "validation"
    test = "test"


def evaluate_command(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    data: Data,
    split: Annotated[SplitName, typer.Option(help="Which part of the data.")] = SplitName.test,
    on: Annotated[str | None, typer.Option(help="Another dataset with the same classes.")] = None,
    retrieval: Annotated[
        bool, typer.Option("--retrieval", help="Also search by the features: recall@k, mAP, skew of attributes.")
    ] = False,
    changes: Set = [],  # noqa: B006 (typer copies it)
    json: Json = False,
) -> None:
    """Predict a split anew with the trained model of RUN and print its metrics, with 95 % intervals.

    With --on, a split of another dataset; --set then changes settings of that dataset.
    """
    import json as json_format

    from fairflac.api.runs import evaluate
    from fairflac.config.options import parse_assignments
    from fairflac.runs.directory import Workspace

    found = evaluate(run, split=split.value, on=on, workspace=Workspace(data=data), settings=parse_assignments(changes))

    from fairflac.metrics.retrieval import measure_retrieval
    from fairflac.reporting.naming import Names, labels, name_of
    from fairflac.reporting.text import measurement_json, measurement_text, retrieval_json, retrieval_text

    table, names, training_images = found.predictions, Names(list(found.classes), {}), found.training_images
    searched = measure_retrieval(table.features, table.y, table.bias) if retrieval else None
    if json:
        about = {"run": str(run), "dataset": found.dataset, "split": found.split, "n": len(table)}
        more = {} if searched is None else retrieval_json(searched)
        echo(json_format.dumps({**about, **measurement_json(table, names, training_images), **more}, indent=1))
        return
    config = found.run.config
    where = f"{on or name_of(config)}, {split} split"
    known = labels(found.run).cell
    echo(f"{config['method']} (labels: {known}) on {where}, seed {config['seed']}, {len(table)} images")
    echo(measurement_text(table, names, training_images))
    if searched is not None:
        echo(retrieval_text(searched))
