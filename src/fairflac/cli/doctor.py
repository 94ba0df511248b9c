"""`fairflac doctor`."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Data, Json, Runs


def doctor(
    data: Data,
    runs: Runs = Path("runs"),
    quick: Annotated[bool, typer.Option("--quick", help="Do not measure a training step.")] = False,
    json: Json = False,
) -> None:
    """Say what this machine can do, and what is missing."""
    from fairflac.hardware import choose_precision, describe

    found: dict[str, str | int] = {**describe()}
    found["precision auto means"] = choose_precision("auto", str(found["device"]))
    found["runs folder"] = _writable(runs)
    found["data folder"] = _writable(data)
    found["mnist"] = _mnist(data)
    if not quick:
        seconds = _step_seconds(str(found["precision auto means"]))
        found["one step of the demo"] = f"{1000 * seconds:.0f} ms"
    if json:
        typer.echo(json_format.dumps(found, indent=1))
        return
    for name, value in found.items():
        typer.echo(f"{name:<22}{value}")


def _writable(folder: Path) -> str:
    from fairflac.files import writable

    return f"{folder} ({'writable' if writable(folder) else 'NOT writable: choose another folder'})"


def _mnist(data: Path) -> str:
    from fairflac.data import mnist
    from fairflac.errors import UserError

    try:
        mnist.check(data)
    except UserError:
        return "not there: fairflac data get mnist"
    return "there and whole"


def _step_seconds(precision: str) -> float:
    """Median of a few training steps of the demo's network."""
    import statistics
    import time

    import torch
    from torch.nn.functional import cross_entropy

    from fairflac.build import build_method
    from fairflac.config import resolve
    from fairflac.data.biased_digits import BiasedDigits

    config = resolve(BiasedDigits.name, "vanilla")
    method = build_method(config, BiasedDigits.task)
    x = torch.rand(config.train.batch_size, 3, 28, 28).contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (len(x),))
    times = []
    for _ in range(4):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16-mixed"):
            loss = cross_entropy(method.predict(x), y)
        loss.backward()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
