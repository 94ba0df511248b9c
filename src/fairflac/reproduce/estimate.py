"""How long runs would take on this machine, from the measured time of a training step."""

from collections.abc import Iterable
from functools import cache

import torch

from fairflac.build import build_method
from fairflac.config import RunConfig
from fairflac.step_time import any_task, plain, seconds_per_image

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
    return image_passes(config) * seconds_per_image(_plain(config))


def image_passes(config: RunConfig) -> float:
    """How many images go through the network in a whole training."""
    return config.train.epochs * training_images(config) * _passes(config)


def training_images(config: RunConfig) -> int:
    blond = config.dataset == "celeba" and config.data_options.get("label") == "blond"
    return BLOND_IMAGES if blond else IMAGES[config.dataset]


def _plain(config: RunConfig) -> RunConfig:
    return plain(config, config.data_options.get("size") or SIZES[config.dataset])


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
        method, net = build_method(full, any_task(bare)), build_method(bare, any_task(bare))
    return method.num_views * _size(method) / _size(net)


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
