"""Train a run, measure it, write a page about it, hand it on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairflac.config.file import ConfigFile, read_config
from fairflac.config.options import check_options
from fairflac.config.settings import arrange
from fairflac.errors import UserError
from fairflac.runs.directory import Run, Workspace, finished_runs
from fairflac.system.files import check_writable
from fairflac.system.progress import stop_requests, tell

if TYPE_CHECKING:
    from fairflac.data.base import Split
    from fairflac.exporting.formats import Exported
    from fairflac.metrics import Measured
    from fairflac.metrics.predictions import Predictions

AnyRun = Run | Path | str


def train(
    dataset: str | None = None,
    method: str | None = None,
    *,
    config: Path | str | None = None,
    seed: int | None = None,
    workspace: Workspace | None = None,
    resume: bool = True,
    devices: int = 1,
    num_nodes: int = 1,
    report: bool = True,
    **settings: Any,
) -> Run | None:
    """Train a method on a dataset (and first its bias model, where it needs one), then evaluate on the test split.

    A run that is done is not trained again; one that was stopped goes on where it was.

    Args:
        dataset: its name, as in `fairflac list datasets`.
        method: its name, as in `fairflac list methods`.
        config: in place of both, the `config.toml` of a run, or its folder: all its settings, and no recipe.
        seed: of data, weights and order; 0, or that of the config, if not given.
        workspace: where runs and data are.
        resume: go on from the last checkpoint, or train anew.
        devices: processes or GPUs on this machine.
        num_nodes: machines.
        report: write a page about the run, `report.html` in its folder.
        settings: of the dataset, the network, the method or training; a table such as
            `bias_model={"epochs": 1}` for those of the bias model.

    Returns:
        The finished run; None on all processes but the first.

    Example:
        >>> run = fairflac.train("biased-digits", "flac-b")  # doctest: +SKIP
        >>> run.result["test"]["unbiased"]  # doctest: +SKIP
        0.694
    """
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in settings.items()}
    asked = what_to_train(dataset, method, config, seed, settings)

    from fairflac.config.run_config import resolve

    workspace = workspace or Workspace()
    complete = config is not None
    resolved = resolve(asked.dataset, asked.method, asked.seed, asked.settings, workspace.data, complete=complete)

    # This takes seconds, which a wrong setting need not cost.
    from fairflac.training.pipeline import import_bias_models, train_config

    import_bias_models(settings, workspace)
    run = train_config(resolved, workspace, resume=resume, devices=devices, num_nodes=num_nodes)
    if run is not None and report:
        _write_page(run)
    return run


def what_to_train(
    dataset: str | None, method: str | None, config: Path | str | None, seed: int | None, settings: Mapping[str, Any]
) -> ConfigFile:
    """What was asked for, every name checked: a recipe by dataset and method, or a config file; then settings."""
    if config is not None:
        if dataset is not None or method is not None:
            raise UserError(f"'{config}' names its dataset and method: leave out both, or the config")
        file = read_config(Path(config).expanduser())
        asked = replace(file, seed=file.seed if seed is None else seed, settings=file.changed(settings))
    elif dataset is None or method is None:
        raise UserError("train needs a 'dataset' and a 'method', or a config: see fairflac train --help")
    else:
        asked = ConfigFile(dataset, method, seed or 0, dict(settings))
    arrange(asked.dataset, asked.method, dict(asked.settings), complete=config is not None)
    return asked


def _write_page(run: Run) -> None:
    """The page about this run, in its folder. A finished run is finished, whatever happens to its page."""
    from fairflac.reporting.naming import is_result

    if not is_result(run):
        return  # a bias model has no groups to show
    if run.report.exists() and run.report.stat().st_mtime_ns >= (run.path / "done").stat().st_mtime_ns:
        return
    try:
        from fairflac.reporting.page import write

        run.report.unlink(missing_ok=True)  # an old page is about another training
        write([run], run.report)
    except Exception as error:
        tell(f"the run is whole, but its report could not be written: {error}", even_quietly=True)


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found."""

    run: Run
    dataset: str
    split: "Split"
    classes: tuple[str, ...]
    predictions: "Predictions"
    training_images: tuple[int, ...]  # of each class; empty where the run does not say

    @property
    def metrics(self) -> "dict[str, Measured]":
        """By name, each with its 95 % interval and the number of images behind it."""
        from fairflac.metrics import measure
        from fairflac.metrics.representation import measure_features

        return measure(self.predictions) | measure_features(self.predictions)


def evaluate(
    run: AnyRun,
    *,
    split: "Split" = "test",
    on: str | None = None,
    workspace: Workspace | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Predict a split anew with the trained model of a run, and measure it.

    Args:
        run: a finished run, or its directory.
        split: `train`, `validation` or `test`.
        on: another dataset with the same classes.
        workspace: where the data are.
        settings: of that other dataset, such as `{"q": 0.99}`.

    Returns:
        The predictions and their metrics.

    Example:
        >>> found = fairflac.evaluate("runs/biased-digits/flac/1f0c-s0")  # doctest: +SKIP
        >>> found.metrics["unbiased"].value  # doctest: +SKIP
        0.767
    """
    if settings and not on:
        raise UserError("settings change the dataset that `on` names: give `on` too, or leave out the settings")
    if on:
        check_options("dataset", on, settings or {})
    opened = Run.finished(path_of(run))

    from fairflac.training.build import load_config, load_method, load_other, load_split
    from fairflac.training.pipeline import predict_run

    config, method, data = load_config(opened), load_method(opened), (workspace or Workspace()).data
    if on:
        images = load_other(on, dict(settings or {}), method.spec, config.seed or 0, data, split)
    else:
        images = load_split(config, data, split)
    if images is None:
        raise UserError(f"{on or config.dataset} has no {split} split in this run: it was trained with validation = 0")
    table = predict_run(opened, images, method, cache=data / "cache")
    if split == "test" and not on:
        stored = opened.predictions  # what the bias model named, which need not be at hand
        table = replace(table, guess=stored.guess, guess_counts=stored.guess_counts)
    counts = tuple(opened.result.get("training_images", ()))
    return Evaluation(opened, on or config.dataset, split, method.spec.classes, table, counts)


def report(runs: AnyRun | Sequence[AnyRun], output: Path | str = Path("report.html")) -> list[Run]:
    """Write one page about runs: does a model lean on a shortcut, what helped, how sure that is, and what it cost.

    Args:
        runs: finished runs, run directories, or folders with runs in them.
        output: the page to write.

    Returns:
        The runs that the page is about.

    Example:
        >>> fairflac.report("runs", "report.html")  # doctest: +SKIP
    """
    output = Path(output)
    if output.is_dir():
        raise UserError(f"'{output}' is a folder: name the page too, for example '{output / 'report.html'}'")
    check_writable(output)
    given = [runs] if isinstance(runs, Run | Path | str) else runs
    found = finished_runs([path_of(run) for run in given])

    from fairflac.config import plugins
    from fairflac.reporting.page import write

    plugins.load(["metrics"])
    write(found, output)
    return found


def serve(runs: Path | str = Path("runs"), *, port: int | None = None, started: Callable[[str], object] = tell) -> None:
    """Show the runs of a folder in a browser on this machine, until Ctrl-C or SIGTERM. Nothing is written.

    Args:
        runs: the folder with runs in it; what begins there later appears by itself.
        port: of 127.0.0.1; 0 takes a free one, and without it 8421 or a free one.
        started: is told the address once it answers.

    Example:
        >>> fairflac.serve("runs")  # doctest: +SKIP
        http://127.0.0.1:8421/
    """
    root = Path(runs).expanduser()
    if not root.is_dir():
        raise UserError(f"there is no folder '{root}': give one with runs in it")

    from fairflac.config import plugins
    from fairflac.serving.server import Server

    plugins.load(["metrics"])
    server = Server(root, port)
    with stop_requests() as stop, server.running():
        started(server.address)
        stop.wait()


def export(run: AnyRun, to: str, output: Path | str | None = None, *, licence: str = "other") -> "Exported":
    """Write the trained model of a run as a file for other programs, and a model card beside it.

    The file is opened again and compared with the run on test images before it is kept.

    Args:
        run: a finished run, its directory, or what `debias` left.
        to: `safetensors`, `onnx` or `torchscript`.
        output: the file; without it `model.*` in the folder of the run.
        licence: of the model, as model hubs name it: `apache-2.0`, `cc-by-4.0`, …

    Returns:
        The files that were written, and how far their answers differ from the run's.

    Example:
        >>> fairflac.export("photos-debiased", "onnx").file  # doctest: +SKIP
        PosixPath('photos-debiased/model.onnx')
    """
    path = path_of(run)
    opened = Run.finished(path)

    from fairflac.exporting.formats import export as export_run

    folder = path if path.is_dir() else path.parent  # that of debias has a model already: the new one belongs beside it
    return export_run(opened, to, None if output is None else Path(output), licence=licence, folder=folder)


def path_of(run: AnyRun) -> Path:
    """Of a run, or of what may be its directory."""
    return run.path if isinstance(run, Run) else Path(run).expanduser()
