"""Run directories: the only thing between training and reporting.

runs/<dataset>/<method>/<run id>-s<seed>/
    config.toml env.json images.txt metrics.jsonl samples.npz last.pt best.pt
    bias_logits.npy bias_features.npy pairs_per_batch.npy predictions.npz gallery.npz result.json done report.html
    bias-model-2/ (of a second attribute: bias_logits.npy bias_features.npy pairs_per_batch.npy)
"""

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from filelock import FileLock, Timeout

from fairflac.errors import RunInUse, UserError
from fairflac.metrics.predictions import Predictions
from fairflac.system.files import TEMPORARY, data_root, replacing, sync_folder, write_text
from fairflac.system.parse import parse_json, parse_toml

CONFIG, LOCK = "config.toml", "lock"
SILENT_SECONDS = 900.0  # after which a process of another machine is taken for gone: training writes every five minutes
# What `result.json` holds; an earlier version did not write all of it.
RESULT: dict[str, Any] = dict.fromkeys(("dataset", "method", "target", "selection", "bias_model"), str)
RESULT |= dict.fromkeys(("test", "validation", "bias_model_quality", "attributes"), dict)
RESULT |= dict.fromkeys(("classes", "training_images"), list)
RESULT |= {"seed": int, "seconds": int | float, "attribute_labels": int | float, "from_scratch": bool}
CHOICE = "choice.json"  # in the folder that `debias` leaves: which run it kept, and why


@dataclass(frozen=True)
class Run:
    """One run directory. Reading it needs no training code.

    Args:
        path: the directory.

    Example:
        >>> run = fairflac.Run.finished(Path("runs/biased-digits/flac/1f0c-s0"))  # doctest: +SKIP
        >>> run.config["method"], run.result["test"]["unbiased"]  # doctest: +SKIP
        ('flac', 0.767)
    """

    path: Path

    @classmethod
    def open(cls, path: Path) -> "Run":
        """A directory that must already hold a run, or what `debias` left: its folder, or the model in it."""
        home = path if (path / CONFIG).is_file() else kept_run(path)
        if home is None and not path.exists():
            raise UserError(f"there is no '{path}': give a run directory")
        if home is None and not path.is_dir():
            raise UserError(f"'{path}' is a file: give the run directory that it comes from")
        if home is None:
            raise UserError(f"'{path}' is not a run directory: it has no {CONFIG}")
        return cls(home)

    @classmethod
    def finished(cls, path: Path) -> "Run":
        """One that is trained to its end."""
        run = cls.open(path)
        run.check_done()
        return run

    def check_done(self) -> None:
        """Refuse a run that is not finished."""
        if not self.done:
            raise UserError(f"'{self.path}' is not finished: start its training again, which goes on where it was")

    @property
    def done(self) -> bool:
        return (self.path / "done").exists()

    @property
    def last(self) -> Path:
        return self.path / "last.pt"

    @property
    def best(self) -> Path:
        return self.path / "best.pt"

    @property
    def bias_features(self) -> Path:
        return self.path / "bias_features.npy"

    @property
    def bias_logits(self) -> Path:
        return self.path / "bias_logits.npy"

    def of_bias_model(self, number: int) -> "Run":
        """Where the output of a bias model is kept: of the first beside all else, of others in their own folder."""
        return self if number == 1 else Run(self.path / f"bias-model-{number}")

    @property
    def pairs_per_batch(self) -> Path:
        """|S| of every batch of the first epoch, by the bias model's features of images as they are."""
        return self.path / "pairs_per_batch.npy"

    @property
    def samples(self) -> Path:
        return self.path / "samples.npz"

    @property
    def gallery(self) -> Path:
        return self.path / "gallery.npz"

    @property
    def images(self) -> Path:
        """Says which of a user's own images it was begun with."""
        return self.path / "images.txt"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def owner(self) -> Path:
        """Says who holds the lock, or who held it and was killed."""
        return self.path / "owner.json"

    @property
    def config(self) -> dict[str, Any]:
        return _parsed(self.path / CONFIG, parse_toml, self._read(CONFIG))

    @property
    def env(self) -> dict[str, Any]:
        return self._read_json("env.json")

    @property
    def result(self) -> dict[str, Any]:
        found = self._read_json("result.json")
        if any(name in found and not isinstance(found[name], kind | None) for name, kind in RESULT.items()):
            raise _damaged(self.path / "result.json")
        for names in (found.get("classes") or [], *(found.get("attributes") or {}).values()):
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise _damaged(self.path / "result.json")
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        """One entry per finished epoch."""
        lines = self._read("metrics.jsonl").splitlines()
        return [_parsed(self.path / "metrics.jsonl", parse_json, line) for line in lines]

    @property
    def predictions(self) -> Predictions:
        """Of the test split."""
        return Predictions.load(self.path / "predictions.npz")

    def begin(self, config: str, env: dict[str, Any]) -> None:
        """Record what is about to run, and sweep up what a killed process left behind."""
        for leftover in self.path.glob(f".*.{TEMPORARY}"):
            leftover.unlink()
        write_text(self.path / CONFIG, config)
        write_text(self.path / "env.json", json.dumps(env, indent=1))

    def add_to_env(self, **facts: Any) -> None:
        """Write more beside what `env.json` holds of the machine."""
        before = self.env if (self.path / "env.json").exists() else {}
        write_text(self.path / "env.json", json.dumps({**before, **facts}, indent=1))

    def write_history(self, history: list[dict[str, Any]]) -> None:
        """One line of `metrics.jsonl` for each epoch."""
        write_text(self.path / "metrics.jsonl", "".join(json.dumps(entry) + "\n" for entry in history))

    def finish(self, result: dict[str, Any], predictions: Predictions) -> None:
        """Store results; the marker comes last, so that a run with it is whole."""
        predictions.save(self.path / "predictions.npz")
        write_text(self.path / "result.json", json.dumps(result, indent=1))
        write_text(self.path / "done", datetime.now(UTC).isoformat(timespec="seconds") + "\n")

    def copy(self, other: "Run") -> None:
        """Take all files of another run, the marker last: a copy that broke off is not finished."""
        files = [path for path in other.path.rglob("*") if path.is_file()]
        for path in sorted(files, key=lambda path: path.name == "done"):
            name = path.relative_to(other.path)
            if name.name not in (LOCK, self.owner.name):
                with path.open("rb") as source, replacing(self.path / name) as stream:
                    shutil.copyfileobj(source, stream)

    def forget(self) -> None:
        """Drop all that there is but the config, so that training starts anew and nothing of the old one stays."""
        (self.path / "done").unlink(missing_ok=True)  # first: a run that is half gone is not finished
        sync_folder(self.path)
        for entry in self.path.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name not in (CONFIG, LOCK, self.owner.name):
                entry.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold this run for one process. The system frees the lock of a process that dies."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            advice = "wait for it, or stop it"
            if self.holder is None:  # on disks without locks of the system a killed process may leave its own
                advice += f"; if there is none, remove '{LOCK}' there"
            raise RunInUse(f"{self.path} is in use by {self.holder or 'another process'}: {advice}") from None
        try:
            write_text(self.owner, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
            yield
        finally:
            self.owner.unlink(missing_ok=True)
            lock.release()

    @property
    def in_use(self) -> bool:
        """Does a process hold this run?"""
        if not (self.path / LOCK).exists():
            return False
        try:
            with FileLock(self.path / LOCK, timeout=0):
                return False
        except Timeout:
            return True

    @property
    def holder(self) -> "Holder | None":
        """Who trains it now, for those who only look: the lock is not touched, so that nobody is kept from it.

        A process of this machine holds a run while it lives. One of another machine is believed as long as it writes.
        """
        try:
            who = parse_json(self.owner.read_text())
            found = Holder(int(who["pid"]), str(who["host"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if found.host == socket.gethostname():
            return found if _is_alive(found.pid) else None
        return found if time.time() - self.touched < SILENT_SECONDS else None

    @property
    def touched(self) -> float:
        """When anything in it was last written, in seconds since 1970."""
        latest = 0.0
        with os.scandir(self.path) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # a temporary file that took its place meanwhile
                    latest = max(latest, entry.stat().st_mtime)
        return latest

    def _read(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise UserError(f"'{self.path}' has no {name}: has this run finished?") from None
        except UnicodeDecodeError as error:
            raise _damaged(self.path / name) from error

    def _read_json(self, name: str) -> dict[str, Any]:
        return _parsed(self.path / name, parse_json, self._read(name))


class Holder(NamedTuple):
    """A process that trains a run."""

    pid: int
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def _is_alive(pid: int) -> bool:
    if not 0 < pid < 1 << 31:  # anything else means many processes, or none
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is there, and somebody else's
    return True


class HasFolder(Protocol):
    """A config, which names the folder of its run."""

    @property
    def folder(self) -> str: ...


@dataclass(frozen=True)
class Workspace:
    """Where runs and data are, whether progress is shown, and who else is told of it.

    Args:
        runs: the folder of run directories.
        data: the folder of datasets; without it `FAIRFLAC_DATA`, or a folder in the user's cache.
        silent: show no progress.
        logger: `tensorboard`, `mlflow`, `wandb` or `none`; `auto` is TensorBoard where that is installed.

    Example:
        >>> from pathlib import Path
        >>> Workspace(runs=Path("experiments")).runs.name
        'experiments'
    """

    runs: Path = Path("runs")
    data: Path = field(default_factory=data_root)
    silent: bool = False
    logger: str = "auto"

    def run(self, config: HasFolder) -> Run:
        """The run of a config, trained or not."""
        return Run(self.runs / config.folder)


def _parsed(path: Path, parse: Callable[[str], dict[str, Any]], text: str) -> dict[str, Any]:
    try:
        content = parse(text)
    except ValueError as error:
        raise _damaged(path) from error
    if not isinstance(content, dict):
        raise _damaged(path)
    return content


def _damaged(path: Path) -> UserError:
    return UserError(f"'{path}' is damaged: put back a copy, or train it anew (--restart; in Python resume=False)")


def kept_run(path: Path) -> Path | None:
    """The run that `debias` kept, by the folder that it left or by a model in that folder."""
    folder = path.parent if path.is_file() and path.stem == "model" else path
    try:
        home = folder / parse_json((folder / CHOICE).read_text())["run"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return home if (home / CONFIG).is_file() else None


def scalars(entry: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of one epoch in the history, `validation/unbiased` for what is nested."""
    for name, value in entry.items():
        if isinstance(value, Mapping):
            yield from scalars(value, f"{prefix}{name}/")
        elif name != "epoch" and isinstance(value, int | float):
            yield prefix + name.replace(":", "/"), float(value)


def share_trained(run: Run, epochs: int) -> float:
    """The part of its epochs that a run has behind it: one line of its history each."""
    try:
        lines = (run.path / "metrics.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0.0
    return min(1.0, lines / max(1, epochs))


def find_runs(root: Path) -> list[Run]:
    """All finished runs below a folder, sorted by path."""
    return [Run(marker.parent) for marker in sorted(root.rglob("done"))]


def finished_runs(paths: Sequence[Path]) -> list[Run]:
    """The runs that these are, or that lie below them; each once, in the order given."""
    found: dict[Path, Run] = {}
    for path in paths:
        if not path.exists():
            raise UserError(f"there is no folder '{path}': give a run directory, or a folder with runs in it")
        alone = not path.is_dir() or (path / CONFIG).is_file()
        runs = [Run.open(path)] if alone else find_runs(path)
        if not runs:
            raise UserError(f"'{path}' has no finished run in it: give a run directory, or a folder with runs in it")
        for run in runs:
            run.check_done()
            found.setdefault(run.path.resolve(), run)
    return list(found.values())
