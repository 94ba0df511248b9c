"""How large a network, how large images and how many epochs fit into the time that there is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fairflac.config import RunConfig, resolve
from fairflac.errors import UserError
from fairflac.step_time import plain, seconds_per_image

UNITS = {"s": 1, "m": 60, "h": 3600}
SMALL_NET = {"kernel_size": 3, "strides": [2, 2, 1, 1]}  # of simple-conv: sees 23 x 23 pixels
# What is tried, the best first: a network and the side of an image.
LADDER = (
    ("resnet18", 128), ("resnet18", 96), ("resnet18", 64), ("resnet18", 48), ("simple-conv", 64), ("simple-conv", 32),
)  # fmt: skip
USUAL = ("resnet18", 64)  # without a budget
EARLY_STEPS = 40  # of a bias model that is stopped early: two epochs of 2,000 images
STEPS = 800  # of a training, which few epochs of many images or many epochs of few images give
EPOCHS = (10, 60)
FEWEST = 4  # epochs, with which a model of very many images is worth having
BATCHES = (16, 128)
# Every epoch of all models together, as passes over the training images: vanilla and FLAC, which also looks at pairs.
PASSES = 2.2
KEPT_BACK = 0.25  # of the budget, for reading images, bias model, evaluation and report


@dataclass(frozen=True)
class Size:
    """What is trained, and how long."""

    net: str
    size: int
    epochs: int
    batch_size: int
    steps: int  # of an epoch
    seconds: float  # that it will take, about

    def settings(self) -> dict[str, object]:
        """As for `--set`."""
        own = SMALL_NET if self.net == "simple-conv" else {}
        return {"net": self.net, **own, "size": self.size, "epochs": self.epochs, "batch_size": self.batch_size}

    @property
    def early_epochs(self) -> int:
        """After which a bias model has learnt what is easy and little else."""
        return max(min(round(EARLY_STEPS / self.steps), self.epochs // 3), 1)


def parse_budget(text: str) -> float:
    """`90s`, `10m`, `1.5h` → seconds."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smh])\s*", text)
    if not found or float(found[1]) <= 0:
        raise UserError(f"--budget {text}: give a time such as 90s, 10m or 2h")
    return float(found[1]) * UNITS[found[2]]


def fitting(images: int, side: int, budget: float | None) -> Size:
    """For so many training images whose shorter side is `side`; without a budget the usual network."""
    batch, wanted = batch_size(images), epochs(images)
    if budget is None:
        net, size = USUAL
        return _size(net, min(size, _useful(side)), wanted, batch, images)
    for net, size in _worth_trying(side):
        one = _size(net, size, 1, batch, images).seconds
        affordable = int(budget * (1 - KEPT_BACK) / one)
        enough = FEWEST if (net, size) == LADDER[-1] else max(wanted // 3, EPOCHS[0])
        if affordable >= enough:
            return _size(net, size, min(affordable, wanted), batch, images)
    least = one * FEWEST / (1 - KEPT_BACK)
    raise UserError(f"{images:,} images need {minutes(least)} at least on this machine: raise --budget, or take fewer")


def epochs(images: int) -> int:
    """Enough for `STEPS` of them, within reason."""
    return min(max(-(-STEPS * batch_size(images) // images), EPOCHS[0]), EPOCHS[1])


def batch_size(images: int) -> int:
    """The power of two that gives four steps an epoch or more: pairs need large batches, training many steps."""
    largest = 1 << max(images // 4, 1).bit_length() - 1
    return min(max(largest, BATCHES[0]), BATCHES[1])


def _worth_trying(side: int) -> Iterator[tuple[str, int]]:
    """Enlarged images show no more than there is."""
    return ((net, size) for net, size in LADDER if size <= _useful(side) or (net, size) == LADDER[-1])


def _useful(side: int) -> int:
    smallest = LADDER[-1][1]
    return max(smallest, max((size for _, size in LADDER if size <= side), default=smallest))


def _size(net: str, size: int, epochs: int, batch: int, images: int) -> Size:
    steps = max(images // batch, 1)
    draft = Size(net, size, epochs, batch, steps, 0.0)
    config: RunConfig = resolve("folder", "vanilla", 0, {"path": ".", **draft.settings()})
    seconds = seconds_per_image(plain(config, size)) * images * epochs * PASSES
    return Size(net, size, epochs, batch, steps, seconds)


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
