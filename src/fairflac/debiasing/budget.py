"""The time that the user gave, and the network, image size and epochs that fit into it."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairflac.config.options import options_of
from fairflac.config.run_config import RunConfig, resolve
from fairflac.errors import UserError
from fairflac.nets import NETS
from fairflac.nets.frozen import SIDE
from fairflac.nets.weights import IMAGENET
from fairflac.system.progress import duration
from fairflac.training.precision import plain, seconds_per_image

HELD_OUT = 0.2  # of the images, to choose by; and as many to test on, where there is no test folder
ENDING = 20.0  # seconds for predictions, the choice, the model card and the page
RESERVE = 0.1  # of the budget, for what nobody foresees
FEWEST = 4  # epochs, with which a model of very many images is worth having
SMALL_NET = {"kernel_size": 3, "strides": [2, 2, 1, 1]}  # of simple-conv: sees 23 x 23 pixels
FROZEN = "frozen-resnet18"  # whose head alone is trained: for very many images, or little time
# What is tried, the best first: a network and the side of an image. Without ImageNet weights, and with them.
CANDIDATES = (
    ("resnet18", 128), ("resnet18", 96), ("resnet18", 64), ("resnet18", 48), ("simple-conv", 64), ("simple-conv", 32),
)  # fmt: skip
PRETRAINED_CANDIDATES = (("resnet18", 128), ("resnet18", 96), ("resnet18", 64), (FROZEN, SIDE))
USUAL = ("resnet18", 64)  # without a budget
PRETRAINED = ("resnet18", FROZEN)  # that there are ImageNet weights for
EARLY_STEPS = 40  # of a bias model that is stopped early: two epochs of 2,000 images
# Steps of a training, which few epochs of many images or many epochs of few images give, and the bounds of epochs: from
# scratch, and from ImageNet weights, which are near the end after 6 epochs of 10,000 images.
STEPS, EPOCHS = 800, (10, 60)
FINE_TUNING_STEPS, FINE_TUNING_EPOCHS = 500, (6, 40)
HEAD_STEPS, HEAD_EPOCHS = 2000, (30, 100)  # of a head on embeddings, whose steps cost next to nothing
# Of a head that is trained against groups: without it, it learns the few images that contradict by heart, and all that
# is asked for is met by the shortcut (docs/results/faces-without-labels.md).
HEAD_DECAY = 0.1
HEAD = 1e-4  # seconds for an image in an epoch of it, pages and checkpoints included
SEARCH = 0.012  # seconds of one core for an image in the search for a shortcut (docs/results/discovery.md)
BATCHES = (16, 128)
# Beside the steps themselves: validation, augmentation, the optimiser. Guesses from a few trainings; what is trained
# first corrects them.
EPOCH = 1.35  # of a bare forward and backward pass over the training images
AGAINST = 1.2  # of an epoch of the vanilla model: FLAC also looks at pairs, and asks the bias model before it begins


@dataclass(frozen=True)
class TimeBudget:
    """The time that the user gave, and what is left of it."""

    budget: float | None  # seconds; None: as long as it takes
    start: float = field(default_factory=time.monotonic)

    @property
    def spent(self) -> float:
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        """For training; the rest is kept back."""
        if self.budget is None:
            return math.inf
        return self.budget * (1 - RESERVE) - ENDING - self.spent

    def affords(self, epoch_seconds: float, wanted: int) -> int:
        """How many epochs: those that were planned, or fewer, but not so few that a model is not worth having."""
        if wanted * epoch_seconds <= (left := self.left):
            return wanted
        return min(max(int(left / max(epoch_seconds, 1e-3)), FEWEST), wanted)

    def __str__(self) -> str:
        took = f"took {duration(self.spent)}"
        return took if self.budget is None else f"{took} of {duration(self.budget)}"


@dataclass(frozen=True)
class TrainingSetup:
    """What is trained, and how long."""

    net: str
    size: int
    epochs: int
    batch_size: int
    steps: int  # of an epoch
    epoch_seconds: float  # of the vanilla model, about
    pretrained: bool = False  # ImageNet weights are there
    once: float = 0.0  # seconds before the first epoch

    @property
    def fine_tuned(self) -> bool:
        """Training begins with ImageNet weights."""
        return self.pretrained and self.net in PRETRAINED

    def settings(self) -> dict[str, object]:
        """As `train` takes them."""
        own: dict[str, object] = SMALL_NET if self.net == "simple-conv" else {}
        if self.fine_tuned:
            own = {"weights": IMAGENET}
        return {"net": self.net, **own, "size": self.size, "epochs": self.epochs, "batch_size": self.batch_size}

    def settings_against(self) -> dict[str, object]:
        """The same, of a model that is trained against groups."""
        return self.settings() | ({"weight_decay": HEAD_DECAY} if self.net == FROZEN else {})

    @property
    def early_epochs(self) -> int:
        """After which a bias model has learnt what is easy and little else."""
        return max(min(round(EARLY_STEPS / self.steps), self.epochs // 3), 1)

    def seconds(self, bias: "BiasModelCost") -> float:
        """For all of it, about."""
        epochs = self.epochs * (1 + AGAINST + bias.runs) + bias.images / (self.steps * self.batch_size)
        return self.once + bias.seeds * epochs * self.epoch_seconds + bias.reading + ENDING


@dataclass(frozen=True)
class BiasModelCost:
    """What there is to do beside both models."""

    runs: float = 0  # further models that are trained as long as they are
    images: int = 0  # that one is trained on otherwise, in all epochs together
    reading: float = 0.0  # seconds to decode the images
    seeds: int = 1  # with which everything is trained


def choose_setup(
    images: int,
    side: int,
    clock: TimeBudget,
    bias: BiasModelCost | None = None,
    asked: Mapping[str, Any] | None = None,
    *,
    pretrained: bool = False,
) -> TrainingSetup:
    """For so many training images whose shorter side is `side`; without a budget the usual network.

    `asked`: what the user set himself, and stays as it is; `pretrained`: ImageNet weights are there.
    """
    bias, asked = bias or BiasModelCost(), asked or {}
    batch = asked.get("batch_size", batch_size(images))
    usual = (USUAL[0], min(USUAL[1], _useful(side)))
    candidates = _worth_trying(side, pretrained) if clock.budget is not None else [usual]
    candidates = list(dict.fromkeys(_as_asked(net, size, asked) for net, size in candidates))
    if clock.budget is None:
        return _size(*candidates[0], batch, images, asked, pretrained)
    best = None
    for net, size in reversed(candidates):  # from below: what takes far too long is not even measured
        one = _size(net, size, batch, images, asked, pretrained)
        wanted, least = one.epochs, _course(net, one.fine_tuned)[1][0]
        fewest = wanted if "epochs" in asked else min(FEWEST, wanted)
        enough = fewest if best is None else min(max(wanted // 3, least), wanted)
        affordable = [epochs for epochs in range(enough, wanted + 1) if _fits(replace(one, epochs=epochs), clock, bias)]
        if not affordable:
            break
        best = replace(one, epochs=affordable[-1])
    if best is None:
        needed = (replace(one, epochs=fewest).seconds(bias) + clock.spent) / (1 - RESERVE)
        raise UserError(
            f"a budget of {duration(clock.budget)} is too little: {images:,} images to train on need about "
            f"{duration(needed)} at least on this machine; give more time, or take fewer images"
        )
    return best


def _as_asked(net: str, size: int, asked: Mapping[str, Any]) -> tuple[str, int]:
    """With what the user set himself; smaller images would be enlarged to what a frozen network sees at least."""
    net = asked.get("net", net)
    return net, asked.get("size", max(size, SIDE) if net == FROZEN else size)


def _fits(size: TrainingSetup, clock: TimeBudget, bias: BiasModelCost) -> bool:
    return size.seconds(bias) - ENDING <= clock.left


def _course(net: str, fine_tuned: bool) -> tuple[int, tuple[int, int]]:
    """Steps that are wanted, and the fewest and most epochs."""
    if net == FROZEN:
        return HEAD_STEPS, HEAD_EPOCHS
    return (FINE_TUNING_STEPS, FINE_TUNING_EPOCHS) if fine_tuned else (STEPS, EPOCHS)


def epochs(images: int, net: str = "", *, fine_tuned: bool = False) -> int:
    """Enough for so many steps, within reason."""
    steps, (fewest, most) = _course(net, fine_tuned)
    return min(max(-(-steps * batch_size(images) // images), fewest), most)


def batch_size(images: int) -> int:
    """The power of two that gives four steps an epoch or more: pairs need large batches, training many steps."""
    largest = 1 << max(images // 4, 1).bit_length() - 1
    return min(max(largest, BATCHES[0]), BATCHES[1])


def _worth_trying(side: int, pretrained: bool) -> list[tuple[str, int]]:
    """Enlarged images show no more than there is; the last of a list is tried for all."""
    useful = _useful(side)
    candidates: tuple[tuple[str, int], ...] = PRETRAINED_CANDIDATES if pretrained else CANDIDATES
    if pretrained and useful < USUAL[1]:  # fine-tuned as they are: features of enlarged digits know little of digits
        candidates = ((USUAL[0], useful), candidates[-1])
    return [(net, size) for net, size in candidates if size <= useful or (net, size) == candidates[-1]]


def _useful(side: int) -> int:
    smallest = CANDIDATES[-1][1]
    return max(smallest, max((size for _, size in CANDIDATES if size <= side), default=smallest))


def _size(net: str, size: int, batch: int, images: int, asked: Mapping[str, Any], pretrained: bool) -> TrainingSetup:
    draft = TrainingSetup(net, size, 0, batch, max(images // batch, 1), 0.0, pretrained and "weights" not in asked)
    draft = replace(draft, epochs=asked.get("epochs", epochs(images, net, fine_tuned=draft.fine_tuned)))
    own = {key: value for key, value in asked.items() if key in options_of(NETS[net]).model_fields}
    config: RunConfig = resolve("folder", "vanilla", 0, {"path": ".", **draft.settings(), **own})
    seconds = seconds_per_image(plain(config, size)) * images
    if net == FROZEN:  # every image once, those that are held out too
        return replace(draft, epoch_seconds=HEAD * images, once=seconds / (1 - 2 * HELD_OUT))
    return replace(draft, epoch_seconds=seconds * EPOCH)
