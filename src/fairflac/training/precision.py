"""Which arithmetic a network is trained in: bf16 where a few measured steps show that it is faster."""

import copy
import os
import time
from collections.abc import Callable
from functools import cache
from typing import get_args

import torch
import torch.nn.functional as F

from fairflac.config.run_config import Precision, RunConfig
from fairflac.errors import UserError
from fairflac.system.bf16 import BROKEN, kept_gain
from fairflac.system.hardware import best_device, device_name, has_bf16, synchronise
from fairflac.training.build import build_method
from fairflac.types import Attribute, Network, TaskSpec

VARIABLE = "FAIRFLAC_PRECISION"  # what `precision = "auto"` means, where somebody decides for a whole session
WORTH_IT = 1.2  # times faster, for digits that bf16 loses
# Pixels to measure with: 128 digits, or 8 photographs.
PIXELS = 400_000
BATCHES = (4, 128)
ROUNDS = 2  # of which the first warms up


def check_precision(wanted: str, device: torch.device) -> None:
    """Before any work."""
    if wanted == "16-mixed" and device.type == "cpu":
        raise UserError("16-mixed needs a GPU: take bf16-mixed, 32-true or auto on a CPU")


def choose_precision(
    wanted: str,
    net: Network,
    shape: tuple[int, ...],  # of one sample
    device: torch.device,
    begun: str | None = None,  # that of a run which goes on
) -> str:
    """What the user says; with `auto` what a run was begun in, or what is faster for this network on this machine."""
    check_precision(wanted, device)
    if wanted != "auto":
        return wanted
    if begun == "32-true" or (begun == "bf16-mixed" and has_bf16(device.type)):
        return begun
    said = os.environ.get(VARIABLE) or "auto"
    if said not in get_args(Precision):
        raise UserError(f"{VARIABLE}={said} is none of {', '.join(get_args(Precision))}")
    check_precision(said, device)
    if said != "auto":
        return said
    if not has_bf16(device.type):
        return "32-true"
    gain = kept_gain(lambda: bf16_gain(net, shape, device), str(net), str(shape), device_name(device))
    return "bf16-mixed" if gain > WORTH_IT else "32-true"


def bf16_gain(net: Network, shape: tuple[int, ...], device: torch.device) -> float:
    """fp32 seconds per bf16 second of training steps, taken in turn; `BROKEN` for a network that cannot do it.

    On a CPU in seconds of one thread: what else runs there would decide otherwise, once and for all, and threads that
    wait for one another on busy cores make bf16 look slow.
    """
    steps, clock = StepTimer(net, shape, device), time.process_time if device.type == "cpu" else time.perf_counter
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        pairs = [(steps.seconds("32-true", clock), steps.seconds("bf16-mixed", clock)) for _ in range(ROUNDS)]
    except RuntimeError:  # a stranger's module may mix types; if it cannot be trained at all, training will tell
        return BROKEN
    finally:
        torch.set_num_threads(threads)
    return min(a for a, _ in pairs) / min(b for _, b in pairs)


class StepTimer:
    """Training steps of a copy of a network on noise, to be timed. Leaves torch's generator as it was."""

    def __init__(self, net: Network, shape: tuple[int, ...], device: torch.device) -> None:
        self.net = copy.deepcopy(net).to(device).train()
        pixels = shape[-1] * shape[-2] if len(shape) > 1 else 1
        self.count = min(max(PIXELS // pixels, BATCHES[0]), BATCHES[1])
        noise = torch.rand(self.count, *shape, generator=torch.Generator().manual_seed(0))
        layout = torch.channels_last if len(shape) == 3 else torch.contiguous_format
        self.x = noise.to(device).contiguous(memory_format=layout)
        self.y = torch.zeros(self.count, dtype=torch.long, device=device)

    def seconds(self, precision: str, clock: Callable[[], float] = time.perf_counter) -> float:
        """Of one forward and backward pass, until the device has done it."""
        device = self.x.device
        half = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}.get(precision)
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            synchronise(device)
            start = clock()
            with torch.autocast(device.type, half, enabled=half is not None):
                logits = self.net(self.x).logits
            F.cross_entropy(logits.float(), self.y).backward()
            synchronise(device)
            return clock() - start

    def seconds_per_image(self, precision: str) -> float:
        """The best of some rounds."""
        return min(self.seconds(precision) for _ in range(ROUNDS)) / self.count


def plain(config: RunConfig, size: int) -> RunConfig:
    """A run of the same network on images of `size` pixels with nothing else to it."""
    return RunConfig(
        dataset=config.dataset,
        method="vanilla",
        net=config.net,
        data_options={"size": size},
        net_options={key: value for key, value in config.net_options.items() if key != "weights"},
    )


def any_task(config: RunConfig) -> TaskSpec:
    """Ten classes with two values of an attribute: how many there are hardly matters for the time."""
    classes, side = tuple(map(str, range(10))), config.data_options["size"]
    attributes = {"attribute": Attribute(("a", "b"), (0, 1) * 5)}
    return TaskSpec(classes, attributes, (side, side), (0.5,) * 3, (0.25,) * 3)


def seconds_per_image(config: RunConfig) -> float:
    """Forward and backward pass of a `plain` config, as trained here."""
    return _measured(config.model_dump_json())


@cache
def _measured(config_json: str) -> float:
    config = RunConfig.model_validate_json(config_json)
    task, device = any_task(config), torch.device(best_device())
    net, shape = build_method(config, task).net, (3, *task.image_size)
    precision = choose_precision(config.train.precision, net, shape, device)
    return StepTimer(net, shape, device).seconds_per_image(precision)
