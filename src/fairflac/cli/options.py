"""Options that several commands share, each written once."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.system.files import data_root

Runs = Annotated[Path, typer.Option("--runs", help="Folder of run directories.")]
Data = Annotated[
    Path, typer.Option("--data", help="Folder of datasets (also FAIRFLAC_DATA).", default_factory=data_root)
]
Set = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of data, weights and order.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Strict = Annotated[bool, typer.Option("--strict", help="An image that cannot be read is an error.")]
AllowOutside = Annotated[bool, typer.Option("--allow-outside", help="Paths in a CSV may lead out of its folder.")]
