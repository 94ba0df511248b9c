"""`fairflac reproduce TABLE|FIGURE`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairflac.cli import completion
from fairflac.cli.options import Data, Json, Logger, LoggerChoice, Runs, echo

if TYPE_CHECKING:
    from fairflac.reproduction.pipeline import Reproduction
    from fairflac.reproduction.scheduler import Executor


class ScaleName(StrEnum):
    cpu = "cpu"
    paper = "paper"


class ExecutorName(StrEnum):
    local = "local"
    ray = "ray"


def reproduce_command(
    data: Data,
    name: Annotated[
        str | None,
        typer.Argument(help="table1 to table12 or its alias, figure1, 3, 4 or 5.", autocompletion=completion.tables),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="What there is, what it needs and how long it takes.")] = False,
    scale: Annotated[ScaleName, typer.Option(help="The paper's protocol, or one for two cores.")] = ScaleName.cpu,
    only: Annotated[str, typer.Option(metavar="METHOD,…", help="Rows of these methods.")] = "",
    q: Annotated[str, typer.Option(metavar="Q,…", help="Columns of these correlations.")] = "",
    seeds: Annotated[int | None, typer.Option(min=1, help="Instead of those of the scale.")] = None,
    runs: Runs = Path("runs"),
    rebuild: Annotated[Path | None, typer.Option("--from", help="Train nothing; read the runs in this folder.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for what comes out.")] = Path("results"),
    executor: Annotated[ExecutorName, typer.Option(help="Who trains.")] = ExecutorName.local,
    workers: Annotated[int | None, typer.Option(min=1, help="local: trainings at a time.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="local: threads of each.")] = None,
    address: Annotated[str | None, typer.Option(help="ray: of a cluster; without it one on this machine.")] = None,
    cpus: Annotated[float, typer.Option("--cpus-per-run", min=0, help="ray: cores that a training takes.")] = 1,
    gpus: Annotated[float, typer.Option("--gpus-per-run", min=0, help="ray: GPUs that a training takes.")] = 0,
    retries: Annotated[int, typer.Option(min=0, help="ray: how often a lost training is tried again.")] = 3,
    shared: Annotated[
        bool, typer.Option("--shared-folder/--no-shared-folder", help="ray: do all machines see the folder of runs?")
    ] = True,
    logger: Logger = LoggerChoice.auto,
    json: Json = False,
) -> None:
    """Make a table or figure of the paper: train what is missing, then write it beside the published values.

    Runs that are done are not trained again; stopped at any moment, the same command goes on. At the scale cpu numbers
    are no reproduction, say so, and are never set against the paper's.
    """
    from fairflac.errors import UserError
    from fairflac.reproduction.published import official_name
    from fairflac.runs.directory import Workspace

    if name is not None:
        name = official_name(name)
    if show:
        return _list(scale, name, json)
    if name is None:
        raise UserError("say what to reproduce, for example table2; fairflac reproduce --list shows what there is")

    from fairflac.api.experiments import reproduce

    chosen: Executor | None = None
    if rebuild is None:
        chosen = _executor(executor, workers, threads, address, (cpus, gpus), retries, shared)
    made = reproduce(
        name,
        scale=scale.value,
        only=_words(only),
        q=_numbers(q),
        seeds=seeds,
        workspace=Workspace(rebuild or runs, data, logger=logger.value),
        output=output,
        executor=chosen,
        rebuild=rebuild is not None,
    )
    if made.text:
        echo(made.text["json" if json else "md"])
        echo(f"written: {made.files[0].with_suffix('')}.{{{','.join(made.text)}}}", err=True)
    for line in (*made.files, *made.notes) if not made.text else ():
        echo(line)
    _say_what_failed(made)


def _executor(
    kind: ExecutorName,
    workers: int | None,
    threads: int | None,
    address: str | None,
    resources: tuple[float, float],
    retries: int,
    shared: bool,
) -> "Executor":
    from fairflac.errors import UserError

    if kind is ExecutorName.local:
        if address:
            raise UserError(f"--address {address} is for --executor ray: without it all runs would be made here")
        from fairflac.reproduction.local_executor import LocalExecutor

        return LocalExecutor(workers, threads)
    if workers or threads:
        raise UserError("--workers and --threads are for --executor local: with ray say --cpus-per-run, --gpus-per-run")
    from fairflac.reproduction.ray_executor import RayExecutor

    return RayExecutor(address, *resources, retries, shared)


def _list(scale: ScaleName, name: str | None, json: bool) -> None:
    from fairflac.reproduction.plan import as_json, as_text, contents
    from fairflac.system.progress import tell

    tell("measuring a training step of each network…")
    listed = contents(scale.value, name)
    echo(as_json(listed) if json else as_text(listed, scale.value))


def _say_what_failed(made: "Reproduction") -> None:
    """What could be made is made; a script must still learn that this is not all."""
    if made.failed:
        first, reason = next(iter(made.failed.items()))
        message = f"{len(made.failed)} of {made.runs} runs failed; the first, {first}: {reason}"
        echo(f"fairflac: {message}", colour="red", err=True)
        raise typer.Exit(1)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[float]:
    from fairflac.errors import UserError

    try:
        return [float(word) for word in _words(text)]
    except ValueError:
        raise UserError(f"--q {text} is not valid: give numbers, for example --q 0.99,0.999") from None
