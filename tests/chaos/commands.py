"""The commands that are disturbed, each of seconds, and what they leave: compared file by file with an undisturbed run.

Everything that a command reads lies in one folder of inputs, as run names go by the place of the images.
"""

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from planted_bars import draw_folder
from toy_table import settings, toy_table

TINY = {"net": "simple-conv", "channels": [2, 2, 2, 2], "kernel_size": 3, "precision": "32-true"}


@dataclass(frozen=True)
class Command:
    """Words of the program, by the folder of inputs; it writes to the folder that it is started in."""

    name: str
    words: Callable[[Path], list[str]]
    modules: tuple[str, ...] = ()  # that it imports while it runs
    needs_run: bool = False  # a finished one among the inputs


def _set(changes: dict[str, Any]) -> list[str]:
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}".replace(" ", ""))]


def _train(inputs: Path, method: str, **changes: Any) -> list[str]:
    words = ["train", "csv", method, "--runs", "runs", "--data", "data"]
    return [*words, *_set(settings(inputs / "toy" / "table.csv", **changes))]


def _train_only(inputs: Path) -> list[str]:
    return [*_train(inputs, "flac-b", selection="accuracy"), "--no-report"]


def _train_and_report(inputs: Path) -> list[str]:
    return _train(inputs, "flac-b", epochs=2)


def _train_with_given(inputs: Path) -> list[str]:
    return [*_train(inputs, "flac-b", epochs=2, bias_model=finished_run(inputs)), "--no-report"]


def _tune(inputs: Path) -> list[str]:
    words = ["tune", "csv", "flac-b", "--trials", "2", "--search", "alpha=0.01:100", "--runs", "runs", "--data", "data"]
    return [*words, *_set(settings(inputs / "toy" / "table.csv", epochs=3))]


def _debias(inputs: Path) -> list[str]:
    return ["debias", str(inputs / "bars"), "-o", "out", "--data", "data", *_set({**TINY, "size": 16, "epochs": 4})]


def _data_get(inputs: Path) -> list[str]:
    return ["data", "get", "utkface", "--from", str(inputs / "faces"), "--data", "data"]


def _cache(inputs: Path) -> list[str]:
    return ["data", "check", str(inputs / "many"), "--data", "data"]


def _export(inputs: Path) -> list[str]:
    return ["export", str(finished_run(inputs)), "--to", "safetensors", "-o", "exported/model.safetensors"]


def _reproduce(inputs: Path) -> list[str]:
    return ["reproduce", "table11", "--only", "vanilla,flac", "--runs", "runs", "--data", "data", "-o", "out"]


TENSORBOARD = "tensorboard.summary.writer.record_writer"
COMMANDS = {
    command.name: command
    for command in (
        Command("train", _train_only, (TENSORBOARD,)),
        Command("train and report", _train_and_report, (TENSORBOARD, "fairflac.reporting.page")),
        Command("train, model given", _train_with_given, (TENSORBOARD,), needs_run=True),
        Command("tune", _tune, (TENSORBOARD, "optuna", "fairflac.tuning.study")),
        Command("debias", _debias, (TENSORBOARD, "fairflac.debiasing.pipeline")),
        Command("data get", _data_get),
        Command("cache", _cache),
        Command("export", _export, ("fairflac.exporting.formats", "matplotlib.pyplot"), needs_run=True),
        Command("reproduce", _reproduce, ("fairflac.reproduction.pipeline",)),
    )
}


def make_inputs(inputs: Path) -> None:
    """All but the finished run, for which a training has to be run."""
    toy_table(inputs / "toy")
    draw_folder(inputs / "bars", 60, aligned=0.9)
    draw_folder(inputs / "many", 400, aligned=0.9)
    (inputs / "faces").mkdir()
    rng = np.random.default_rng(0)
    for number in range(300):
        face = Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8))
        face.save(inputs / "faces" / f"{20 + number % 50}_{number % 2}_{number % 5}_{number:05}.jpg")


def words_of_finished_run(inputs: Path) -> list[str]:
    return [*_train(inputs, "vanilla", epochs=2, lr=0.02), "--no-report"]


def finished_run(inputs: Path) -> Path:
    return next((inputs / "runs").rglob("done")).parent


# What depends on the hour or on how fast the machine was: that it is there is all that can be asked of it.
ONLY_THERE = re.compile(r"\.html$|\.svg$|\.tex$|last\.pt$|best\.pt$|env\.json$|done$|model\.md$")
# What nobody reads as a result, and what a process holds while it lives.
NOT_COUNTED = re.compile(r"(^|/)([^/]*lock(\.break\.[^/]*)?|owner\.json|worker\.log|tensorboard/.*)$")
SPENT = re.compile(r" [^ ]+ [a-z]+ of training")
TIMES = ("seconds", "epoch_seconds", "once", "time")


def results(folder: Path) -> dict[str, str]:
    """Every file below the folder and a digest of its content, hidden ones too: none is left behind."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if not NOT_COUNTED.search(name):
            found[name] = "" if ONLY_THERE.search(name) else hashlib.sha256(_content(path, folder)).hexdigest()
    return found


def _content(path: Path, folder: Path) -> bytes:
    if path.suffix == ".md":
        return SPENT.sub("", path.read_text()).encode()
    if path.suffix not in (".json", ".jsonl"):
        return path.read_bytes()
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    timeless = "\n".join(json.dumps(_timeless(json.loads(line)), sort_keys=True) for line in lines)
    return timeless.replace(str(folder), "").encode()


def _timeless(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _timeless(value) for key, value in content.items() if key not in TIMES}
    if isinstance(content, str):
        return SPENT.sub("", content)
    return [_timeless(value) for value in content] if isinstance(content, list) else content


def difference(found: dict[str, str], wanted: dict[str, str]) -> str:
    """In words; nothing if there is none."""
    missing, more = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    other = sorted(name for name in wanted.keys() & found.keys() if wanted[name] != found[name])
    kinds = (("missing", missing), ("left behind", more), ("another content", other))
    return "; ".join(f"{kind}: {', '.join(names[:3])}" for kind, names in kinds if names)
