"""`fairflac reproduce TABLE|FIGURE`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairflac.cli.options import Data, Json, Runs

if TYPE_CHECKING:
    from fairflac.config.run_config import RunConfig
    from fairflac.reproduction.scheduler import Executor
    from fairflac.runs.directory import Workspace


class ScaleName(StrEnum):
    cpu = "cpu"
    paper = "paper"


class ExecutorName(StrEnum):
    local = "local"
    ray = "ray"


def reproduce(
    data: Data,
    name: Annotated[str | None, typer.Argument(help="table1 to table12 or its alias, figure1, 3, 4 or 5.")] = None,
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
    json: Json = False,
) -> None:
    """Make a table or figure of the paper: train what is missing, then write it beside the published values.

    Runs that are done are not trained again; stopped at any moment, the same command goes on. At the scale cpu numbers
    are no reproduction, say so, and are never set against the paper's.
    """
    from fairflac.errors import UserError
    from fairflac.reproduction.published import official_name
    from fairflac.system.files import check_folder

    if name is not None:
        name = official_name(name)
    if show:
        return _list(scale, name, json)
    if name is None:
        raise UserError("say what to reproduce, for example table2; fairflac reproduce --list shows what there is")
    check_folder(output)
    if rebuild is None:
        check_folder(runs)

    from fairflac.runs.directory import Workspace

    chosen: Executor | None = None
    if rebuild is not None and not rebuild.is_dir():
        raise UserError(f"--from {rebuild}: there is no such folder; give one with runs in it")
    if rebuild is None:
        chosen = _executor(executor, workers, threads, address, (cpus, gpus), retries, shared)
    workspace = Workspace(rebuild or runs, data)
    whole = name == "table1" or name.startswith("figure")
    if whole and (only or q or seeds):
        raise UserError(f"--only, --q and --seeds are for tables of results: {name} shows what it shows")
    if name == "table1":
        return _applicability(output, json)
    if name.startswith("figure"):
        return _figure(name, scale, workspace, chosen, output)
    _table(name, scale, _words(only), _numbers(q), seeds, workspace, chosen, output, json)


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
        from fairflac.reproduction.scheduler import LocalExecutor

        return LocalExecutor(workers, threads)
    if workers or threads:
        raise UserError("--workers and --threads are for --executor local: with ray say --cpus-per-run, --gpus-per-run")
    from fairflac.reproduction.ray_executor import RayExecutor

    return RayExecutor(address, *resources, retries, shared)


def _list(scale: ScaleName, name: str | None, json: bool) -> None:
    from fairflac.reproduction.estimate import as_json, as_text, contents
    from fairflac.system.progress import tell

    tell("measuring a training step of each network…")
    listed = contents(scale.value, name)
    typer.echo(as_json(listed) if json else as_text(listed, scale.value))


def _applicability(output: Path, json: bool) -> None:
    from fairflac.reproduction.tables import applicability_json, applicability_page
    from fairflac.system.files import write_text

    pages = {"md": applicability_page(), "json": applicability_json()}
    for ending, page in pages.items():
        write_text(output / f"table1.{ending}", page)
    typer.echo(pages["json" if json else "md"])


def _figure(name: str, scale: ScaleName, workspace: "Workspace", executor: "Executor | None", output: Path) -> None:
    from fairflac.errors import UserError
    from fairflac.reporting.figures.registry import save_figures
    from fairflac.reproduction.plan import figure_configs
    from fairflac.reproduction.published import FIGURES
    from fairflac.system.progress import tell

    configs = figure_configs(name, scale.value)
    failures = _make(name, configs, workspace, executor)
    done = [run for config in configs if (run := workspace.run(config)).done]
    if not done:
        raise UserError(f"no run of {name} is there: {next(iter(failures.values()), f'none in {workspace.runs}')}")
    for config in configs:
        if not workspace.run(config).done:
            tell(f"{name} is drawn without {config.folder}: {failures.get(config.folder, 'not run')}")
    for line in save_figures(done, output / f"{name}-{scale}", [FIGURES[name].drawing]):
        typer.echo(line)
    _say_what_failed(configs, failures)


def _table(
    name: str,
    scale: ScaleName,
    only: list[str],
    q: list[float],
    seeds: int | None,
    workspace: "Workspace",
    executor: "Executor | None",
    output: Path,
    json: bool,
) -> None:
    from fairflac.reproduction.plan import plan
    from fairflac.reproduction.published import published
    from fairflac.reproduction.tables import FORMATS, fill
    from fairflac.system.files import write_text

    grid = plan(published(name), scale.value, only=only, q=q, seeds=seeds)
    failures = _make(grid.table.name, grid.configs(), workspace, executor)
    if executor is not None:
        from fairflac.reproduction.make import measure_elsewhere

        failures |= measure_elsewhere(grid, workspace)
    filled = fill(grid, workspace.runs, failures)
    stem = f"{grid.table.name}-{scale}"
    for ending, write in FORMATS.items():
        write_text(output / f"{stem}.{ending}", write(filled))
    typer.echo(FORMATS["json" if json else "md"](filled))
    typer.echo(f"written: {output / stem}.{{{','.join(FORMATS)}}}", err=True)
    _say_what_failed(grid.configs(), failures)


def _make(
    label: str, configs: "list[RunConfig]", workspace: "Workspace", executor: "Executor | None"
) -> dict[str, str]:
    if executor is None:
        return {}
    from fairflac.reproduction.make import make

    return make(label, configs, workspace, executor)


def _say_what_failed(configs: "list[RunConfig]", failures: dict[str, str]) -> None:
    """What could be made is made; a script must still learn that this is not all."""
    failed = [config.folder for config in configs if config.folder in failures]
    if failed:
        message = f"{len(failed)} of {len(configs)} runs failed; the first, {failed[0]}: {failures[failed[0]]}"
        typer.secho(f"fairflac: {message}", fg="red", err=True)
        raise typer.Exit(1)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> list[float]:
    from fairflac.errors import UserError

    try:
        return [float(word) for word in _words(text)]
    except ValueError:
        raise UserError(f"--q {text} is not valid: give numbers, for example --q 0.99,0.999") from None
