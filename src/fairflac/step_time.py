"""How long an image takes in training on this machine: measured there and then."""

from functools import cache

import torch

from fairflac.build import build_method
from fairflac.config import RunConfig
from fairflac.hardware import best_device
from fairflac.precision import Steps, choose_precision
from fairflac.types import Attribute, TaskSpec


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
    return Steps(net, shape, device).seconds_per_image(precision)
