"""What all kinds use: the folder of a case, its files, and the words of a command."""

import random
from pathlib import Path
from typing import Any

from chaos.mutations import file_name

Words = list[str]


def write(case: Path, rng: random.Random, usual: str, content: bytes) -> str:
    path = case / "in" / file_name(rng, usual)
    path.write_bytes(content)
    return str(path)


def output(case: Path, name: str) -> Words:
    return ["-o", str(case / "out" / name)]


def settings(**changes: Any) -> Words:
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


def encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def training(case: Path, data: Path) -> Words:
    """Where a training writes, and nothing but the training."""
    return ["--runs", str(case / "out"), "--data", str(data), "--no-report", "--logger", "none"]
