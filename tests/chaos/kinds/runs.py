"""Run directories with files that are damaged, missing, or of another content."""

import io
import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from chaos.kinds.case import Words, encoded, output, settings, training
from chaos.kinds.models import zip_damaged
from chaos.mutations import damaged, file_name, hostile, misspelt
from chaos.world import World

TEXTS = (".json", ".jsonl", ".toml", ".txt")


def _damage_file(rng: random.Random, path: Path, case: Path) -> None:
    content = path.read_bytes()
    try:
        path.write_bytes(_damaged_as_what_it_is(rng, path.suffix, content, case))
    except (ValueError, EOFError, zipfile.BadZipFile):  # it was damaged before
        path.write_bytes(damaged(rng, content))


def _damaged_as_what_it_is(rng: random.Random, suffix: str, content: bytes, case: Path) -> bytes:
    if suffix in TEXTS and rng.random() < 0.7:
        if suffix == ".json" and rng.random() < 0.4:
            return json.dumps(_other_value(rng, json.loads(content))).encode()
        return encoded(misspelt(rng, content.decode()))
    if suffix == ".npz" and rng.random() < 0.6:
        return _other_arrays(rng, content)
    if suffix == ".pt" and rng.random() < 0.6:
        return zip_damaged(rng, content, case)
    return damaged(rng, content)


def _other_value(rng: random.Random, found: Any) -> Any:
    """The same structure, with one value somewhere of another kind."""
    inner = [key for key, value in found.items() if isinstance(value, dict)] if isinstance(found, dict) else []
    if inner and rng.random() < 0.6:
        key = rng.choice(inner)
        return {**found, key: _other_value(rng, found[key])}
    if not isinstance(found, dict) or not found:
        return rng.choice((None, [], "x"))
    key = rng.choice(list(found))
    changed = rng.choice(
        (None, [], {}, -1, 10**30, "x", hostile(rng), [hostile(rng)] * 2, True, 1e308, float("nan"), "drop")
    )
    return {k: v for k, v in {**found, key: changed}.items() if v != "drop"}


def _other_arrays(rng: random.Random, content: bytes) -> bytes:
    """A table of predictions with one column of other values, another type, another length, or packed to nothing."""
    with np.load(io.BytesIO(content)) as stored:
        columns = {name: stored[name] for name in stored.files}
    name = rng.choice(list(columns))
    old = columns[name]
    draw = rng.randrange(8)
    if draw == 0:
        del columns[name]
    elif draw == 1:
        columns[rng.choice(("bias.x", "bias.", "aligned.x", "odd", f"bias.{hostile(rng)[:50]}".replace("/", "")))] = old
    elif draw == 2:
        columns[name] = old[:-1] if old.ndim else np.array([1])
    elif draw == 3:
        columns[name] = np.full(old.shape, rng.choice((-1, 10**9, 2**40, float("nan"), float("inf"))))
    elif draw == 4:
        columns[name] = np.full(old.shape, hostile(rng)[:50])
    elif draw == 5:
        columns[name] = np.zeros((0, *old.shape[1:]), old.dtype)
    elif draw == 6:
        columns[name] = old[..., None]
    else:
        columns[name] = np.zeros((rng.choice((1, 40_000_000, 400_000_000)),), np.uint8)
    result = io.BytesIO()
    np.savez_compressed(result, **{name.encode(errors="replace").decode(): column for name, column in columns.items()})
    return result.getvalue()


def run_directories(world: World, case: Path, rng: random.Random) -> Words:
    flac, plain = world.runs
    run = case / "in" / file_name(rng, "run")
    shutil.copytree(flac if rng.random() < 0.8 else plain, run)
    files = sorted(one for one in run.iterdir() if one.suffix in (*TEXTS, ".npz", ".npy", ".pt"))
    for _ in range(rng.choice((1, 1, 2))):
        victim = rng.choice(files)
        if rng.random() < 0.1:
            victim.unlink(missing_ok=True)
        elif victim.exists():
            _damage_file(rng, victim, case)
    kind, ending = rng.choice((("safetensors", "safetensors"), ("torchscript", "pt")))
    more: dict[str, Words] = {
        "evaluate": ["--data", str(world.data), *rng.choice(([], ["--json"], ["--retrieval"]))],
        "compare": [str(plain)],
        "predict": [str(world.image)],
        "export": ["--to", kind, *output(case, f"model.{ending}")],
        "report": output(case, "page.html"),
        "figures": [*output(case, "figures"), "--only", rng.choice(("group-accuracy", "training-curves"))],
        "embed": [str(world.image), *output(case, "features.npy")],
        "train": [*settings(epochs=2), *training(case, world.data)],
    }
    command = rng.choices(list(more), (4, 4, 4, 1, 1, 1, 3, 1))[0]
    return [command, *(["--config"] if command == "train" else []), str(run), *more[command]]
