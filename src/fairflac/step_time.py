"""How long an image takes in training on this machine: measured there and then."""

import time
from functools import cache

import torch
import torch.nn.functional as F

from fairflac.build import build_method
from fairflac.config import RunConfig
from fairflac.engine import make_fabric
from fairflac.types import Attribute, TaskSpec

# Pixels to measure with: 128 digits, or 8 photographs.
PIXELS = 400_000
BATCHES = (4, 128)
ROUNDS = 2


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
    """The best of some rounds, of which the first warms up."""
    config = RunConfig.model_validate_json(config_json)
    task, fabric = any_task(config), make_fabric(config.train.precision)
    net = build_method(config, task).net.to(fabric.device)
    side = task.image_size[0]
    count = min(max(PIXELS // side**2, BATCHES[0]), BATCHES[1])
    images = torch.rand(count, 3, side, side, device=fabric.device).contiguous(memory_format=torch.channels_last)
    y = torch.zeros(count, dtype=torch.long, device=fabric.device)
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        with fabric.autocast():
            loss = F.cross_entropy(net(images).logits, y)
        loss.backward()
        best = min(best, time.perf_counter() - start)
    return best / count
