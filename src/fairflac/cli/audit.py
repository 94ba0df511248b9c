"""`fairflac audit MODEL… DATA`, and `fairflac audit PREDICTIONS`."""

from collections.abc import Mapping
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from fairflac.cli.evaluate import SplitName
from fairflac.cli.options import AllowOutside, Data, Json, LabelColumn, PathColumn, Seed, Set, Strict, echo
from fairflac.errors import UserError

MODEL_HELP = (
    "MODEL, one or several to be compared with the first: a run directory, an exported model, a TorchScript, ONNX or "
    "weight file, or module:function."
)
DATA_HELP = "DATA: a folder with a subfolder for each class, a CSV file, or a dataset (see fairflac list datasets)."


ALONE_HELP = "Or one table of predictions (CSV, Parquet: label, prediction or scores, attributes) and nothing else."
# How tables of predictions end. Written here, as what reads them imports torch; a test compares them.
TABLES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")

Shown = str | dict[str, object]


def audit_command(
    words: Annotated[list[str], typer.Argument(metavar="MODEL... DATA", help=f"{MODEL_HELP} {DATA_HELP} {ALONE_HELP}")],
    data: Data,
    names: Annotated[
        list[str], typer.Option("--name", metavar="NAME", help="What a model is called; once for each of several.")
    ] = [],  # noqa: B006 (typer copies it)
    split: Annotated[
        SplitName | None, typer.Option(help="Which part of the data; test where there are parts, else all images.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write a page about the audit.")] = None,
    net: Annotated[str | None, typer.Option(help="The network of a weight file, for example resnet18.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Pixels of a side, where the model does not say.")] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Names of the classes in the order of the model's outputs.")
    ] = None,
    attributes: Annotated[
        list[str], typer.Option("--attribute", metavar="COLUMN", help="Of a CSV file; all others if not given.")
    ] = [],  # noqa: B006 (typer copies it)
    path_column: PathColumn = None,
    label_column: LabelColumn = None,
    prediction: Annotated[
        list[str],
        typer.Option("--prediction-column", metavar="COLUMN", help="The predicted class; several are compared."),
    ] = [],  # noqa: B006
    prefix: Annotated[
        str | None,
        typer.Option("--score-prefix", metavar="TEXT", help="Before a class in the name of its column of scores."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Of two predicted classes, that rates are about; the second.")
    ] = None,
    seed: Seed = 0,
    changes: Set = [],  # noqa: B006
    allow_outside: AllowOutside = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Say whether MODEL leans on a shortcut, on which, and how sure that is; no attribute labels are needed.

    Discovery finds groups that the classes go with, from frozen features, as fairflac discover does: does the model
    follow them? Simple cues (colour, brightness, fine detail, border, corners) are exchanged between images: does it
    follow these? A small bias model, trained on the spot, shows where what is easy goes against the class. Columns of
    a CSV file are attributes, and the groups they make are measured too. Several models (before and after) are asked
    about the same images, and compared image by image.

    Of predictions that were made elsewhere (a CSV or Parquet file with columns such as label, prediction, sex), say
    whether they treat groups alike.
    """
    *models, images = words
    alone = not models and Path(images).suffix.lower() in TABLES
    if not models and not alone:
        raise UserError(
            f"Missing argument 'DATA': give images to audit '{images}' on, or a table of predictions in its place"
        )
    for_models = {
        "path-column": path_column,
        "name": names,
        "split": split,
        "net": net,
        "size": size,
        "classes": classes,
        "set": changes,
    }
    for_predictions = {"prediction-column": prediction, "score-prefix": prefix, "positive": positive}
    _refuse(for_models if alone else for_predictions, alone)
    if alone:
        shown = _predictions(
            json,
            predictions=images,
            label=label_column,
            prediction=prediction,
            score_prefix=prefix,
            attributes=attributes,
            positive=positive,
            output=output,
        )
    else:
        shown = _models(
            json,
            model=models if len(models) > 1 else models[0],
            data=images,
            names=names,
            split=None if split is None else split.value,
            output=output,
            net=net,
            size=size,
            classes=classes.split(",") if classes else None,
            attributes=attributes,
            path_column=path_column,
            label_column=label_column,
            seed=seed,
            folder=data,
            allow_outside=allow_outside,
            strict=strict,
            changes=changes,
        )
    echo(shown if isinstance(shown, str) else dumps(shown, indent=1))
    if output is not None:
        echo(f"page: {output}", err=json)


def _refuse(options: Mapping[str, object], alone: bool) -> None:
    """Options of the other kind of audit would be read by nothing."""
    for name, value in options.items():
        if value:
            which = "a model and its images" if alone else "a table of predictions alone"
            raise UserError(f"--{name} is for {which}: leave it out")


def _predictions(json: bool, **asked: Any) -> Shown:
    from fairflac.api.images import audit_predictions
    from fairflac.auditing import fairness_page

    found = audit_predictions(**asked)
    return fairness_page.as_json(found) if json else fairness_page.as_text(found)


def _models(json: bool, folder: Path, changes: list[str], **asked: Any) -> Shown:
    from fairflac.api.images import audit
    from fairflac.config.options import parse_assignments
    from fairflac.runs.directory import Workspace

    found: Any = audit(**asked, workspace=Workspace(data=folder), settings=parse_assignments(changes))

    from fairflac.auditing import text
    from fairflac.auditing.several import SideBySide

    if isinstance(found, SideBySide):
        return text.several_json(found) if json else text.several_text(found)
    return text.as_json(found) if json else text.as_text(found)
