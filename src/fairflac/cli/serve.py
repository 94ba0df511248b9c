"""`fairflac serve RUNS`."""

from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import echo


def serve_command(
    runs: Annotated[Path, typer.Argument(help="A folder with runs in it.")] = Path("runs"),
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0 takes a free one; without it 8421, or a free one.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Show the runs of a folder in a browser: a list, live curves of what trains now, reports, any two compared.

    On this machine only (127.0.0.1), and nothing is written. Stop it with Ctrl-C.
    """
    from fairflac.api.runs import serve

    def started(address: str) -> None:
        echo(f"{runs} at {address} (Ctrl-C stops it)")
        if show:
            typer.launch(address)

    serve(runs, port=port, started=started)
