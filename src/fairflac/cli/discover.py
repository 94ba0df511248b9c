"""`fairflac discover PHOTOS`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import OWN_IMAGES, AllowOutside, Data, Json, LabelColumn, PathColumn, Seed, Strict, echo

FEATURES_HELP = (
    "A .npy file with a row for each image in the order of the listing, or a model (see fairflac audit); without it "
    "the ImageNet ResNet-18."
)
WITNESS_HELP = (
    "Who guesses: linear, clusters and twins look at features; auto asks these three and believes the best; early, "
    "gce, small and vanilla are bias models, trained on the images, which takes minutes."
)


class WitnessName(StrEnum):
    auto = "auto"
    linear = "linear"
    clusters = "clusters"
    twins = "twins"
    early = "early"
    gce = "gce"
    small = "small"
    vanilla = "vanilla"


def discover_command(
    path: Annotated[Path, typer.Argument(metavar="PHOTOS", help=OWN_IMAGES)],
    data: Data,
    witness: Annotated[WitnessName, typer.Option(help=WITNESS_HELP)] = WitnessName.auto,
    features: Annotated[str | None, typer.Option(metavar="FILE.npy|MODEL", help=FEATURES_HELP)] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for groups.csv and the page; NAME-groups if not given."),
    ] = None,
    net: Annotated[str | None, typer.Option(help="The network of a weight file, for example resnet18.")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Pixels of a side, where the model does not say.")] = None,
    seed: Seed = 0,
    path_column: PathColumn = None,
    label_column: LabelColumn = None,
    allow_outside: AllowOutside = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Find the shortcut that the classes of PHOTOS offer, without labels of it: groups.csv and a page of images.

    Unless a bias model is named, nothing is trained but linear models and small networks on frozen features, which
    takes seconds for thousands of images. Name the values in groups.csv, correct it, and give it to fairflac debias
    with --attribute-from.
    """
    import json as json_format

    from fairflac.api.images import discover
    from fairflac.runs.directory import Workspace

    found = discover(
        path,
        witness=witness.value,
        features=features,
        output=output,
        net=net,
        size=size,
        seed=seed,
        workspace=Workspace(data=data),
        path_column=path_column,
        label_column=label_column,
        allow_outside=allow_outside,
        strict=strict,
    )

    from fairflac.discovering.page import as_json, as_text

    echo(json_format.dumps(as_json(found), indent=1, allow_nan=False) if json else as_text(found))
    echo(f"groups: {found.groups}\npage:   {found.page}", err=json)
