"""A toy task with a planted shortcut, small enough to train in a blink: two classes, a shape and a brightness."""

from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from fairflac.bias_model import BiasSource
from fairflac.config import RunConfig, TrainConfig
from fairflac.data.base import BiasedDataset
from fairflac.engine import Training
from fairflac.methods import METHODS, Frozen, Method
from fairflac.runs import Run
from fairflac.train import Batches
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
}


class ToyNet(Network):
    """With a convolution, for its channels-last memory; without BatchNorm, whose statistics are per process."""

    feature_dim = 8

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.hidden = nn.Linear(64, 8)
        self.fc = nn.Linear(8, num_classes)

    def forward(self, x: Tensor) -> Output:
        features = torch.tanh(self.hidden(torch.relu(self.conv(x)).flatten(1)))
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
    method: Method = METHODS[kind](ToyNet(TASK.num_classes).to(memory_format=torch.channels_last), TASK, **options)
    return method


def toy_bias(data: BiasedDataset) -> BiasSource:
    """An ideal bias model: the shade itself, with a little noise."""
    shade = torch.from_numpy(data.bias["shade"])
    noise = torch.rand(len(data), 2, generator=torch.Generator().manual_seed(0)) / 20
    return BiasSource(Frozen(ToyNet(2)), torch.nn.functional.one_hot(shade, 2) + noise, {})


def toy_batches(method: Method, data: BiasedDataset, fabric: Fabric, **train: object) -> Batches:
    bias = toy_bias(data) if method.needs_bias_model else None
    return Batches(method, data, toy_config(method.name, **train), fabric, bias)


def toy_config(method: str, **train: object) -> RunConfig:
    settings = {"epochs": 4, "batch_size": 32, "lr": 1e-2, "precision": "32-true", **train}
    return RunConfig(dataset="toy", method=method, net="toy", seed=0, train=TrainConfig(**settings))  # type: ignore[arg-type]


def toy_training(name: str, folder: Path, fabric: Fabric, **train: object) -> Training:
    """Ready to fit, as `fairflac train` would make it."""
    data = toy_data()
    method = toy_method(name)
    batches = toy_batches(method, data, fabric, **train)
    torch.manual_seed(1)
    return Training(method, batches, len(data), toy_config(name, **train), fabric, Run(folder), validation=data)
