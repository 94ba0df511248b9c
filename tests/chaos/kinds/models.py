"""Model files: safetensors, ONNX, TorchScript, pickles with a program in them."""

import io
import json
import os
import pickle
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

from chaos.kinds.case import Words, encoded, output, settings, training, write
from chaos.mutations import NUMBERS, damaged, hostile, misspelt
from chaos.world import NET, SETTINGS, World


class Payload:
    """Runs a command when it is unpickled by somebody careless."""

    def __init__(self, canary: str) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.canary}'",)


def _model_command(world: World, path: str, rng: random.Random, case: Path) -> Words:
    odd = ["--size", str(rng.choice((0, 1, 8, 10**6)))]
    extra = rng.choice((["--size", "8"], ["--size", "8", "--net", NET], ["--net", NET, "--size", "8"], [], odd))
    command = rng.choice(("predict", "predict", "predict", "embed"))
    return [command, path, str(world.image), *extra, *(output(case, "features.npy") if command == "embed" else [])]


def safetensors(world: World, case: Path, rng: random.Random) -> Words:
    content = world.seed(rng.choice(("ours.safetensors", "foreign.safetensors")))
    length = struct.unpack("<Q", content[:8])[0]
    if rng.random() < 0.5:
        head = content[8 : 8 + length].decode()
        head = misspelt(rng, head.replace(",", ",\n")) if rng.random() < 0.7 else _noted(rng, json.loads(head))
        raw = encoded(head)
        claimed = len(raw) if rng.random() < 0.8 else rng.choice(NUMBERS)
        content = struct.pack("<Q", claimed) + raw + content[8 + length :]
    else:
        content = damaged(rng, content)
    return _model_command(world, write(case, rng, "model.safetensors", content), rng, case)


def _noted(rng: random.Random, head: dict[str, Any]) -> str:
    """A file of ours whose metadata says something else."""
    notes = json.loads(head.get("__metadata__", {}).get("fairflac", "{}"))
    if notes:
        key = rng.choice(list(notes))
        names = [hostile(rng), hostile(rng)]
        odd = (None, [], {}, -1, 0, 10**6, [10**6, 10**6], "x", names, {"x": 1}, [0, 0], 1e308, [0.0] * 3)
        notes[key] = rng.choice(odd)
    return json.dumps({**head, "__metadata__": {"fairflac": json.dumps(notes)}})


def onnx(world: World, case: Path, rng: random.Random) -> Words:
    content = damaged(rng, world.seed(rng.choice(("ours.onnx", "foreign.onnx"))))
    return _model_command(world, write(case, rng, "model.onnx", content), rng, case)


def torchscript(world: World, case: Path, rng: random.Random) -> Words:
    content = world.seed(rng.choice(("ours.pt", "foreign.pt")))
    content = damaged(rng, content) if rng.random() < 0.4 else zip_damaged(rng, content, case)
    return _model_command(world, write(case, rng, "model.pt", content), rng, case)


def zip_damaged(rng: random.Random, content: bytes, case: Path) -> bytes:
    """One member changed, so that checksums and the directory still hold; or with a pickle that runs a command."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(result, "w") as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            body = old.read(name)
            if name == chosen:
                body = _member(rng, name, body, case)
            if body is not None:
                new.writestr(name if rng.random() < 0.98 else f"../../{name}", body)
    return result.getvalue()


def _member(rng: random.Random, name: str, body: bytes, case: Path) -> bytes | None:
    draw = rng.random()
    if draw < 0.1:
        return None
    if name.endswith("data.pkl") and draw < 0.6:
        return pickle.dumps(Payload(str(case / "canary")), protocol=2)
    if name.endswith(".py") and draw < 0.6:
        return encoded(misspelt(rng, body.decode(errors="replace")))
    return damaged(rng, body)


def checkpoints(world: World, case: Path, rng: random.Random) -> Words:
    draw = rng.random()
    if draw < 0.2:
        content = pickle.dumps({"state_dict": Payload(str(case / "canary"))}, protocol=rng.choice((0, 2, 4)))
    elif draw < 0.5:
        content = zip_damaged(rng, world.seed("weights.pt"), case)
    else:
        content = damaged(rng, world.seed(rng.choice(("weights.pt", "old.pth", "plain.pkl"))))
    path = write(case, rng, rng.choice(("weights.pt", "weights.pth", "model.bin")), content)
    if rng.random() < 0.1:
        words = ["train", "folder", "vanilla", *settings(path=world.photos, weights=path, **SETTINGS)]
        return [*words, *training(case, world.data)]
    return [*_model_command(world, path, rng, case)[:3], "--net", NET, "--size", "8"][: None if draw < 0.9 else 3]
