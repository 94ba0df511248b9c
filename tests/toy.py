"""A toy task with a planted shortcut, small enough to train in a blink: two classes, a shape and a brightness."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from fairflac.config.run_config import RunConfig, TrainConfig
from fairflac.data.base import BiasedDataset
from fairflac.discovery.bias_model import BiasSource
from fairflac.methods import METHODS, Frozen, Method
from fairflac.methods.flac import PairMatching
from fairflac.runs.directory import Run
from fairflac.training.engine import Training
from fairflac.training.evaluate import predictions
from fairflac.training.pipeline import Batches
from fairflac.types import Attribute, Network, Output, TaskSpec

TASK = TaskSpec(
    classes=("horizontal", "vertical"),
    attributes={"shade": Attribute(("dark", "bright"), aligned=(0, 1))},
    image_size=(6, 6),
    mean=(0.5, 0.5, 0.5),
    std=(0.5, 0.5, 0.5),
)


# Every method as it is, and variants whose step differs enough to be tested on their own.
CASES: dict[str, tuple[str, dict[str, object]]] = {
    **{name: (name, {}) for name in METHODS},
    "flac with supcon": ("flac", {"task": "supcon"}),
    "flac with strength": ("flac", {"balance": "pairs", "balanced_rows": True, "strength": 0.5}),
    "flac in micro-batches": ("flac", {"micro_batch": 5}),
    "flac against two attributes": ("flac", {"combine": "max", "balance": "pairs"}),
    "flac-plus against two attributes": ("flac-plus", {"combine": "joint"}),
    "cgl": ("cgl", {"estimation_epochs": 1, "label_share": 0.5}),
    "ssa": ("ssa", {"estimation_epochs": 1, "label_share": 0.5}),
    "lnl with convolutions": ("lnl", {"predictor": "conv"}),
    "groupdro as it comes": ("groupdro", {"adjustment": 2.0, "balanced": False}),
    "disent with swaps": ("disent", {"warm_up": 4}),
    "disent-be with swaps": ("disent-be", {"warm_up": 4}),
    "softcon on S": ("softcon", {"pairs": "conflicting"}),
    "fairkl with cross-entropy": ("fairkl", {"task": "ce"}),
    "fairkl-lu on S": ("fairkl-lu", {"pairs": "conflicting"}),
}


class ToyNet(Network):
    """With a convolution, for its channels-last memory; without BatchNorm, whose statistics are per process."""

    feature_dim = 8
    middle, middle_dim = "conv", 4

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.hidden = nn.Linear(64, 8)
        self.fc = nn.Linear(8, num_classes)

    def forward(self, x: Tensor) -> Output:
        features = torch.tanh(self.hidden(torch.relu(self.conv(x)).flatten(1)))
        return Output(self.fc(features), features)


class PixelNet(Network):
    """Sees single pixels, and so the shade but not the direction of the line."""

    feature_dim = 6
    middle, middle_dim = "conv", 6

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 1)
        self.fc = nn.Linear(6, num_classes)

    def forward(self, x: Tensor) -> Output:
        features = torch.tanh(self.conv(x)).mean((2, 3))
        return Output(self.fc(features), features)


def toy_data(n: int = 96, conflicting: float = 0.25, seed: int = 0) -> BiasedDataset:
    """A bright or dark image with a line across; the brightness goes with the class, but for a share."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    shade = np.where(rng.random(n) < conflicting, 1 - y, y)
    images = np.full((n, 6, 6, 3), 60, dtype=np.uint8) + (120 * shade[:, None, None, None]).astype(np.uint8)
    images += rng.integers(0, 20, images.shape, dtype=np.uint8)
    for i in range(n):
        line = rng.integers(0, 6)
        if y[i]:
            images[i, :, line] += 50
        else:
            images[i, line] += 50
    names = np.array([f"toy/{i}" for i in range(n)])
    return BiasedDataset(images, y.astype(np.int64), {"shade": shade.astype(np.int64)}, names, "train", TASK)


def toy_method(name: str, seed: int = 0) -> Method:
    torch.manual_seed(seed)
    kind, options = CASES[name]
    return build_toy_method(kind, **options)


def build_toy_method(kind: str, biased_net: type[ToyNet] | type[PixelNet] = ToyNet, **options: object) -> Method:
    cls = METHODS[kind]
    networks: list[Network] = [ToyNet(cls.num_logits(TASK))]
    if cls.needs_biased_net:
        networks.append(biased_net(cls.num_biased_logits(TASK)))
    net, *biased = (network.to(memory_format=torch.channels_last) for network in networks)
    method: Method = cls(net, TASK, *biased, **options)
    return method


def toy_bias(data: BiasedDataset) -> BiasSource:
    """An ideal bias model: the shade itself, with a little noise."""
    shade = torch.from_numpy(data.bias["shade"])
    noise = torch.rand(len(data), 2, generator=torch.Generator().manual_seed(0)) / 20
    shown = torch.nn.functional.one_hot(shade, 2) + noise
    return BiasSource(Frozen(ToyNet(2)), Output(logits=4 * shown, features=shown), {})


def toy_second_bias(data: BiasedDataset) -> BiasSource:
    """Of an attribute with three values that nobody can see: two of them go with the class, for half of the images."""
    values = torch.where(torch.arange(len(data)) % 2 == 0, torch.from_numpy(data.y), 2)
    shown = torch.nn.functional.one_hot(values, 3).float()
    return BiasSource(Frozen(ToyNet(3)), Output(logits=4 * shown, features=shown), {})


def toy_batches(method: Method, data: BiasedDataset, fabric: Fabric, **train: object) -> Batches:
    bias = toy_bias(data) if method.needs_bias_model else None
    if bias is not None and isinstance(method, PairMatching) and method.flac.combine != "sum":
        bias = replace(bias, others=(toy_second_bias(data),))
    return Batches(method, data, toy_config(method.name, **train), fabric, bias)


def toy_config(method: str, **train: object) -> RunConfig:
    settings = {"epochs": 4, "batch_size": 32, "lr": 1e-2, "precision": "32-true", **train}
    return RunConfig(dataset="toy", method=method, net="toy", seed=0, train=TrainConfig(**settings))  # type: ignore[arg-type]


def toy_training(name: str, folder: Path, fabric: Fabric, **train: object) -> Training:
    """Ready to fit, as `fairflac train` would make it."""
    data = toy_data()
    return prepared_training(toy_method(name), data, folder, fabric, validation=data, **train)


def prepared_training(
    method: Method,
    data: BiasedDataset,
    folder: Path,
    fabric: Fabric,
    validation: BiasedDataset | None = None,
    **train: object,
) -> Training:
    batches = toy_batches(method, data, fabric, **train)
    method.prepare(batches.everything())
    torch.manual_seed(1)
    config = toy_config(method.name, **train)
    return Training(method, batches, len(data), config, fabric, Run(folder), validation)


def conflicting_accuracy(
    kind: str,
    folder: Path,
    fabric: Fabric,
    biased_net: type[ToyNet] | type[PixelNet] = ToyNet,
    **options: object,
) -> float:
    """Of a method trained where 5 % of 800 samples conflict, on new samples whose shade goes against their class.

    Vanilla has 0, and a model that looks at the line and not at the shade 1.
    """
    torch.manual_seed(0)
    method = build_toy_method(kind, biased_net, **options)
    data, train = toy_data(800, 0.05), {"epochs": 30, "batch_size": 64, "schedule": "cosine"}
    prepared_training(method, data, folder, fabric, **train).fit(kind, silent=True)
    table = predictions(method, toy_data(400, 1.0, seed=1), fabric)
    return float((table.prediction == table.y).mean())
