"""`fairflac doctor`."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from fairflac.cli.options import Data, Json, Runs, echo


def doctor(
    data: Data,
    runs: Runs = Path("runs"),
    quick: Annotated[bool, typer.Option("--quick", help="Do not measure a training step.")] = False,
    json: Json = False,
) -> None:
    """Say what this machine can do, and what is missing."""
    from fairflac.system.hardware import describe

    found: dict[str, str | int] = {**describe()}
    found["runs folder"] = _writable(runs)
    found["data folder"] = _writable(data)
    for name in ("mnist", "imagenet-weights"):
        found[name] = _there(name, data)
    if not quick:
        precision, seconds = _demo_step()
        found["precision auto means"] = f"{precision} for the demo (each network is measured)"
        found["one step of the demo"] = f"{1000 * seconds:.0f} ms"
    if json:
        echo(json_format.dumps(found, indent=1))
        return
    for name, value in found.items():
        echo(f"{name:<22}{value}")


def _writable(folder: Path) -> str:
    from fairflac.system.files import writable

    return f"{folder} ({'writable' if writable(folder) else 'NOT writable: choose another folder'})"


def _there(name: str, data: Path) -> str:
    from fairflac.data import SOURCES
    from fairflac.errors import UserError

    try:
        SOURCES[name].check(data)
    except UserError:
        return f"not there: fairflac data get {name}"
    return "there and whole"


def _demo_step() -> tuple[str, float]:
    """Precision and time of a training step of the demo's network, on the device that it would train on."""
    import torch

    from fairflac.config.run_config import resolve
    from fairflac.data.sets.biased_mnist import BiasedDigits
    from fairflac.system.hardware import best_device
    from fairflac.training.build import build_method
    from fairflac.training.precision import StepTimer, choose_precision

    config, device = resolve(BiasedDigits.name, "vanilla"), torch.device(best_device())
    net, shape = build_method(config, BiasedDigits.task).net, (3, *BiasedDigits.task.image_size)
    precision = choose_precision(config.train.precision, net, shape, device)
    return precision, StepTimer(net, shape, device).seconds_per_image(precision) * config.train.batch_size
