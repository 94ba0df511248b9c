"""What a training tells of its epochs: `metrics.jsonl` always, and a logger that users have: TensorBoard, MLflow, W&B.

MLflow and Weights & Biases are spoken to through Lightning's loggers, which Fabric shares; all are imported when they
are first written to.
"""

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Literal, Protocol, get_args

from fairflac.config.run_config import RunConfig
from fairflac.errors import UserError, unknown
from fairflac.runs.directory import Run, scalars
from fairflac.system.files import write_text
from fairflac.system.parse import parse_json
from fairflac.system.progress import is_quiet, tell

LoggerName = Literal["auto", "tensorboard", "mlflow", "wandb", "none"]
NEEDED = {"tensorboard": ("tensorboard",), "mlflow": ("mlflow", "lightning"), "wandb": ("wandb", "lightning")}
KEPT = "logger.json"  # in a run directory: which experiment it is elsewhere, and how many of its epochs are there


def check_logger(name: str) -> None:
    """Before anything is trained: is it known, and are its packages here?"""
    if name not in get_args(LoggerName):
        unknown("logger", name, get_args(LoggerName))
    missing = [package for package in NEEDED.get(name, ()) if find_spec(package) is None]
    if missing:
        raise UserError(
            f"logger {name} needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed: "
            f'pip install "fairflac[{name}]", or choose another logger'
        )


class Sink(Protocol):
    """Where numbers go beside `metrics.jsonl`."""

    def write(self, numbers: Mapping[str, float], epoch: int) -> None: ...

    def close(self, finished: bool) -> None: ...


class HistoryLog:
    """One entry per finished epoch; closed at the end of its block."""

    def __init__(self, run: Run, logger: str = "none", config: RunConfig | None = None) -> None:
        self.run, self.config = run, config
        here = "tensorboard" if find_spec("tensorboard") else "none"
        self.logger = here if logger == "auto" else logger
        self.shown = 0  # epochs that the sink has
        self.sink: Sink | None = None

    def __enter__(self) -> "HistoryLog":
        if self.logger != "none":
            with self._or_give_up():
                self._opened()  # now, as it may take seconds that are no training
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.sink is not None:
            with self._or_give_up():
                self.sink.close(finished=kind is None)

    def write(self, history: list[dict[str, Any]]) -> None:
        """The whole history; what a logger has of it already is not sent again."""
        self.run.write_history(history)
        if self.logger == "none" or len(history) == self.shown:
            return
        with self._or_give_up():
            sink = self._opened()
            for entry in history[self.shown :]:
                sink.write(dict(scalars(entry)), entry["epoch"])
            self._keep(len(history))

    def write_result(self, test: Mapping[str, Any]) -> None:
        """The numbers of the test split, as those of the last epoch."""
        if self.logger != "none":
            with self._or_give_up():
                self._opened().write(dict(scalars({"test": test})), self.shown)

    @contextmanager
    def _or_give_up(self) -> Iterator[None]:
        """A server that is away costs its curves, not a training."""
        try:
            yield
        except Exception as error:
            tell(
                f"logger {self.logger} failed and is told nothing more: {' '.join(str(error).split())}",
                even_quietly=True,
            )
            self.logger, self.sink = "none", None

    def _opened(self) -> Sink:
        if self.sink is None:
            if self.logger == "tensorboard":
                self.sink = _TensorBoard(self.run)
            else:
                kept = self._kept()
                self.shown = kept.get("epochs", 0)
                self.sink = _Experiment(self.logger, self.run, self.config, kept.get("id"))
        return self.sink

    def _kept(self) -> dict[str, Any]:
        try:
            found = parse_json((self.run.path / KEPT).read_text())[self.logger]
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return found if isinstance(found, dict) else {}

    def _keep(self, epochs: int) -> None:
        self.shown = epochs
        if isinstance(self.sink, _Experiment):
            write_text(self.run.path / KEPT, json.dumps({self.logger: {"id": self.sink.id, "epochs": epochs}}))


class _TensorBoard:
    """A run that goes on shows its first epochs anew, and TensorBoard drops the old ones.

    An event file of our own: the writer of torch has a thread, which prints a traceback when the folder is gone.
    """

    def __init__(self, run: Run) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self.event, self.summary, self.writer = Event, Summary, RecordWriter
        folder = run.path / "tensorboard"
        folder.mkdir(exist_ok=True)
        # TensorBoard reads files in the order of their names.
        self.path = folder / f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        self._add({"file_version": "brain.Event:2"}, {"step": 1, "session_log": SessionLog(status=SessionLog.START)})

    def write(self, numbers: Mapping[str, float], epoch: int) -> None:
        values = [self.summary.Value(tag=name, simple_value=value) for name, value in numbers.items()]
        self._add({"step": epoch, "summary": self.summary(value=values)})

    def _add(self, *events: dict[str, Any]) -> None:
        with self.path.open("ab") as stream:
            records: Any = self.writer(stream)
            for content in events:
                records.write(self.event(wall_time=time.time(), **content).SerializeToString())

    def close(self, finished: bool) -> None:
        pass


class _Experiment:
    """A run of MLflow or of Weights & Biases, begun or gone on with."""

    def __init__(self, kind: str, run: Run, config: RunConfig | None, known: str | None) -> None:
        name = f"{run.path.parent.name}-{run.path.name}"
        self.kind = kind
        self.logger: Any = _mlflow(run, name, known) if kind == "mlflow" else _wandb(run, name, known)
        if known is None and config is not None:
            self.logger.log_hyperparams(config.model_dump(mode="json"))
        self.id = str(self.logger.version if kind == "wandb" else self.logger.run_id)

    def write(self, numbers: Mapping[str, float], epoch: int) -> None:
        self.logger.log_metrics({**numbers, "epoch": epoch}, step=epoch)

    def close(self, finished: bool) -> None:
        self.logger.finalize("success" if finished else "failed")
        if self.kind == "wandb":  # the next training of this process is another one
            self.logger.experiment.finish(exit_code=0 if finished else 1)


def _mlflow(run: Run, name: str, known: str | None) -> Any:
    """Where MLflow's own variables say; else a file beside the runs."""
    from lightning.pytorch.loggers import MLFlowLogger

    home = run.path.resolve()
    folder = home.parents[2] if len(home.parents) > 2 else home
    uri = os.environ.get("MLFLOW_TRACKING_URI")
    return MLFlowLogger(
        experiment_name=os.environ.get("MLFLOW_EXPERIMENT_NAME") or "fairflac",
        run_name=name,
        tracking_uri=uri or f"sqlite:///{folder / 'mlflow.db'}",
        artifact_location=None if uri else str(folder / "mlflow-artifacts"),
        run_id=known,
    )


def _wandb(run: Run, name: str, known: str | None) -> Any:
    """As its own variables say: WANDB_PROJECT, WANDB_MODE=offline, …"""
    from lightning.pytorch.loggers import WandbLogger
    from wandb import Settings

    project = os.environ.get("WANDB_PROJECT") or "fairflac"
    silent = Settings(silent=True) if is_quiet() else None
    logger = WandbLogger(project=project, name=name, save_dir=run.path, id=known, resume="allow", settings=silent)
    _ = logger.experiment  # begun now, so that it has an id
    return logger
