"""Learned-mixin by hand."""

import math
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from fairflac.methods.lm import LearnedMixin
from fairflac.types import Batch, Output
from toy import TASK, ToyNet, conflicting_accuracy, toy_batches, toy_data, toy_training


@pytest.fixture
def method() -> LearnedMixin:
    torch.manual_seed(0)
    return LearnedMixin(ToyNet(2), TASK, entropy_weight=0.5)


@pytest.fixture
def batch(method: LearnedMixin, fabric: Fabric) -> Batch:
    return toy_batches(method, toy_data(), fabric)(torch.arange(16), 0)


def softmax(values: list[float]) -> list[float]:
    exponentials = [math.exp(value) for value in values]
    return [e / sum(exponentials) for e in exponentials]


@pytest.mark.parametrize("shown", ["log-probabilities", "raw logits"])
def test_equals_the_equation(shown: str, method: LearnedMixin, batch: Batch) -> None:
    """Raw logits of the bias model give the same numbers: what is added to all classes changes neither term."""
    loss = method.step(batch, lambda loss, *groups: None)["loss"]
    output, total = method.net(batch.x), 0.0
    w, c = method.mixing.weight[0].tolist(), method.mixing.bias.tolist()[0]
    for row, y in enumerate(batch.y.tolist()):
        f = output.features[row].tolist()
        beta = math.log(1 + math.exp(sum(a * b for a, b in zip(w, f, strict=True)) + c))
        raw = batch.bias_logits[row].tolist()
        scaled = [beta * v for v in (raw if shown == "raw logits" else map(math.log, softmax(raw)))]
        together = softmax([a + b for a, b in zip(output.logits[row].tolist(), scaled, strict=True)])
        entropy = -sum(p * math.log(p) for p in softmax(scaled))
        total += -math.log(together[y]) + 0.5 * entropy
    assert float(loss) == pytest.approx(total / 16, rel=1e-5)


def test_an_offset_of_all_logits_changes_nothing(method: LearnedMixin, batch: Batch) -> None:
    assert batch._bias_output is not None
    offset = torch.linspace(-50, 50, 16)[:, None]
    other = Output(batch.bias_logits + offset, batch.bias_features)
    moved = Batch(batch.views, batch.y, batch.index, None, other)
    losses = [method.step(b, lambda loss, *groups: None)["loss"] for b in (batch, moved)]
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-5)


def test_certainty_stays_finite(method: LearnedMixin, batch: Batch) -> None:
    sure = Output(1e4 * batch.bias_logits, batch.bias_features)
    logs = method.step(Batch(batch.views, batch.y, batch.index, None, sure), lambda loss, *groups: loss.backward())
    assert all(value.isfinite() for value in logs.values())
    assert all(p.grad is not None and p.grad.isfinite().all() for p in method.parameters())


def test_the_mixing_layer_is_trained(fabric: Fabric, tmp_path: Path) -> None:
    """In earlier code it stayed at its random start."""
    training = toy_training("lm", tmp_path, fabric, epochs=1)
    mixing = training.method.mixing
    before = [parameter.detach().clone() for parameter in mixing.parameters()]  # type: ignore[operator,union-attr]
    training.fit("lm", silent=True)
    after = mixing.parameters()  # type: ignore[operator,union-attr]
    assert all(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_predicts_without_the_bias_model(method: LearnedMixin, batch: Batch) -> None:
    torch.testing.assert_close(method.predict(batch.x), method.net(batch.x).logits)


def test_escapes_the_shortcut_of_its_bias_model(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("lm", tmp_path, fabric) > 0.5
