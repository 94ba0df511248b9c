"""DI against the paper's formulas written as loops."""

import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.data.base import BiasedDataset
from fairflac.methods.di import DI, Inference, combine
from fairflac.training.evaluate import predictions
from fairflac.training.pipeline import Batches
from fairflac.types import Attribute, Batch
from toy import TASK, ToyNet, build_toy_method, prepared_training, toy_batches, toy_config, toy_data

SIZE = Attribute(("small", "medium", "large"), aligned=(0, 2))
TWO_ATTRIBUTES = replace(TASK, attributes={**TASK.attributes, "size": SIZE})  # 2 x 3 values


def log_softmax(values: list[float]) -> list[float]:
    total = math.log(sum(math.exp(value) for value in values))
    return [value - total for value in values]


def loss_by_hand(logits: Tensor, y: Tensor, head: list[int], classes: int) -> float:
    losses = []
    for row, label, own in zip(logits.tolist(), y.tolist(), head, strict=True):
        losses.append(-log_softmax(row[own * classes : (own + 1) * classes])[label])
    return sum(losses) / len(losses)


def step_loss(method: DI, batch: Batch) -> float:
    seen: list[Tensor] = []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    return seen[0].item()


def test_each_sample_trains_the_head_of_its_value(fabric: Fabric) -> None:
    method = build_toy_method("di")
    assert isinstance(method, DI)
    batch = toy_batches(method, toy_data(), fabric)(torch.arange(32), 0)
    expected = loss_by_hand(method.net(batch.x).logits, batch.y, batch.bias.tolist(), 2)
    assert step_loss(method, batch) == pytest.approx(expected, rel=1e-5)


def two_attributes() -> BiasedDataset:
    """Every class with every pair of values, once."""
    y, shade, size = np.array(list(product(range(2), range(2), range(3)))).T
    images = np.random.default_rng(0).integers(0, 256, (len(y), 6, 6, 3), dtype=np.uint8)
    names = np.array([str(i) for i in range(len(y))])
    return BiasedDataset(images, y, {"shade": shade, "size": size}, names, "train", TWO_ATTRIBUTES)


def test_two_attributes_have_a_head_for_each_pair_of_values(fabric: Fabric) -> None:
    data = two_attributes()
    assert DI.num_logits(TWO_ATTRIBUTES) == 2 * 3 * 2
    method = DI(ToyNet(DI.num_logits(TWO_ATTRIBUTES)), TWO_ATTRIBUTES)
    batches = Batches(method, data, toy_config("di"), fabric, None)
    batch = batches(torch.arange(len(data)), 0)
    heads = [3 * a + b for a, b in zip(data.bias["shade"], data.bias["size"], strict=True)]
    assert len(set(heads)) == 6
    expected = loss_by_hand(method.net(batch.x).logits, batch.y, heads, 2)
    assert step_loss(method, batch) == pytest.approx(expected, rel=1e-5)
    method.prepare(batches.everything())
    assert method.predict(batch.x).shape == (12, 2)


def test_rules_of_inference() -> None:
    torch.manual_seed(0)
    logits = 3 * torch.randn(5, 4, 3, dtype=torch.float64)
    for i, heads in enumerate(logits.tolist()):
        log_p = [log_softmax(head) for head in heads]
        for c in range(3):
            expected = {
                "logits": sum(head[c] for head in heads),
                "log-probabilities": sum(head[c] for head in log_p),
                "probabilities": math.log(sum(math.exp(head[c]) for head in log_p) / 4),
                "max": max(head[c] for head in log_p),
            }
            assert set(expected) == set(get_args(Inference))
            for rule, value in expected.items():
                assert combine(logits, rule)[i, c].item() == pytest.approx(value)  # type: ignore[arg-type]


def test_rules_can_disagree() -> None:
    """One sure head outweighs two others by its logits and not by its probability."""
    heads = torch.tensor([[[9.0, 0.0], [0.0, 3.0], [0.0, 3.0]]])
    assert combine(heads, "logits").argmax(1) == 0 and combine(heads, "probabilities").argmax(1) == 1


def test_heads_without_training_samples_have_no_say() -> None:
    method = DI(ToyNet(DI.num_logits(TWO_ATTRIBUTES)), TWO_ATTRIBUTES).eval()
    bias = torch.tensor([0, 4])
    method.prepare(Batch((), torch.tensor([0, 1]), torch.arange(2), bias))
    x = torch.rand(3, 3, 6, 6)
    heads = method.net(x).logits.view(3, 6, 2)
    torch.testing.assert_close(method.predict(x), heads[:, 0] + heads[:, 4])
    copy = DI(ToyNet(DI.num_logits(TWO_ATTRIBUTES)), TWO_ATTRIBUTES)
    copy.load_state_dict(method.state_dict())
    torch.testing.assert_close(copy.predict(x), method.predict(x))


def faint_data(n: int, conflicting: float, seed: int) -> BiasedDataset:
    """The class shows, not always clearly, above; the shade, which goes with it, below."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    shade = np.where(rng.random(n) < conflicting, 1 - y, y)
    images = np.empty((n, 6, 6, 3), dtype=np.uint8)
    images[:, :3] = np.clip(rng.normal(103 + 50 * y, 25), 0, 255)[:, None, None, None]
    images[:, 3:] = (86 + 84 * shade)[:, None, None, None]
    return BiasedDataset(images, y, {"shade": shade}, np.arange(n).astype(str), "train", TASK)


def test_heads_do_not_prefer_the_usual_class_of_a_shade(fabric: Fabric, tmp_path: Path) -> None:
    """Its premise: each head sees enough of every class. Vanilla takes the shade where the class is not clear."""

    def accuracy(kind: str) -> float:
        torch.manual_seed(0)
        method = build_toy_method(kind)
        train = {"epochs": 10, "batch_size": 64, "schedule": "cosine"}
        prepared_training(method, faint_data(1600, 0.05, 0), tmp_path / kind, fabric, **train).fit(kind, silent=True)
        table = predictions(method, faint_data(1000, 1.0, 1), fabric)
        return float((table.prediction == table.y).mean())

    assert accuracy("vanilla") < 0.45
    assert accuracy("di") > 0.65
