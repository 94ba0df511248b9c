"""Options that several commands share, each written once."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fairflac.system.files import data_root

Runs = Annotated[Path, typer.Option("--runs", help="Folder of run directories.")]
Data = Annotated[
    Path, typer.Option("--data", help="Folder of datasets (also FAIRFLAC_DATA).", default_factory=data_root)
]
Set = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of data, weights and order.")]
AnySeed = Annotated[int | None, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of data, weights and order.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Strict = Annotated[bool, typer.Option("--strict", help="An image that cannot be read is an error.")]
AllowOutside = Annotated[bool, typer.Option("--allow-outside", help="Paths in a CSV may lead out of its folder.")]
PathColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a table: the column of paths or images, if not 'path'.")
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label-column", "--label", metavar="NAME", help="Of a table: the column of classes, if not 'label'."
    ),
]
OWN_IMAGES = "A folder with a subfolder for each class, a CSV or Parquet file, or a Hugging Face dataset on disk."
Plugin = Annotated[
    list[Path],
    typer.Option(
        "--plugin", metavar="FILE", help="A file with a method, dataset, network or metric of yours; for every command."
    ),
]


class Commands(TyperGroup):
    """`--plugin FILE` is an option of the program that may stand anywhere, also after the command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words, moved, rest = args[: args.index("--")] if "--" in args else args, list[str](), list[str]()
        end = args[len(words) :]
        while words:
            taken = 2 if words[0] == "--plugin" else 1
            (moved if words[0].split("=")[0] == "--plugin" else rest).extend(words[:taken])
            words = words[taken:]
        return super().parse_args(ctx, [*moved, *rest, *end])
