"""How long runs would take on this machine, from the measured time of a training step."""

import time
from collections.abc import Iterable
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
# Training images of each dataset, and their pixels where no option `size` says it.
IMAGES = {
    "biased-digits": 4_000,
    "biased-mnist": 54_000,
    "corrupted-cifar10": 45_000,
    "utkface": 10_600,
    "fairface": 86_744,
    "celeba": 162_770,
    "imagenet9": 54_600,
}
BLOND_IMAGES = 93_141  # of CelebA: most of the non-blond women are left out
SIZES = {"biased-digits": 28, "biased-mnist": 28, "corrupted-cifar10": 32}


def hours(configs: Iterable[RunConfig]) -> float:
    """Of runs one after the other, on all cores."""
    return sum(map(seconds, configs)) / 3600


def seconds(config: RunConfig) -> float:
    """Of one run, without its bias model."""
    return image_passes(config) * _seconds_per_image(_plain(config).model_dump_json())


def image_passes(config: RunConfig) -> float:
    """How many images go through the network in a whole training."""
    blond = config.dataset == "celeba" and config.data_options.get("label") == "blond"
    images = BLOND_IMAGES if blond else IMAGES[config.dataset]
    return config.train.epochs * images * _passes(config)


def _plain(config: RunConfig) -> RunConfig:
    """A run of the same network on the same images with nothing else to it."""
    size = config.data_options.get("size", SIZES.get(config.dataset))
    return RunConfig(
        dataset=config.dataset,
        method="vanilla",
        net=config.net,
        data_options={"size": size},
        net_options={key: value for key, value in config.net_options.items() if key != "weights"},
    )


def _passes(config: RunConfig) -> float:
    """How often an image goes through the network: its views, and further networks by their size."""
    plain = _plain(config)
    own = {"dataset": plain.dataset, "data_options": plain.data_options, "net_options": plain.net_options}
    few = config.model_copy(update={**own, "train": plain.train, "seed": None, "bias_model": None})
    return _relative_cost(few.model_dump_json(), plain.model_dump_json())


@cache
def _relative_cost(config: str, plain: str) -> float:
    full, bare = (RunConfig.model_validate_json(text) for text in (config, plain))
    with torch.device("meta"):
        method, net = build_method(full, _task(bare)), build_method(bare, _task(bare))
    return method.num_views * _size(method) / _size(net)


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _task(plain: RunConfig) -> TaskSpec:
    """Ten classes with two values of an attribute: how many there are hardly matters for the time."""
    classes, side = tuple(map(str, range(10))), plain.data_options["size"]
    attributes = {"attribute": Attribute(("a", "b"), (0, 1) * 5)}
    return TaskSpec(classes, attributes, (side, side), (0.5,) * 3, (0.25,) * 3)


@cache
def _seconds_per_image(plain: str) -> float:
    """Forward and backward pass, as trained here; the best of some rounds, of which the first warms up."""
    config = RunConfig.model_validate_json(plain)
    task, fabric = _task(config), make_fabric(config.train.precision)
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
