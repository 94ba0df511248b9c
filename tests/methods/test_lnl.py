"""LNL: each of its two updates against the paper, one by one."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.methods.lnl import LNL, reverse_gradient
from fairflac.training.optimise import Optimisation
from fairflac.types import Batch
from toy import TASK, ToyNet, conflicting_accuracy, prepared_training, toy_batches, toy_config, toy_data


def make(**options: float | str) -> LNL:
    torch.manual_seed(0)
    return LNL(ToyNet(2), TASK, **options)  # type: ignore[arg-type]


def batch_for(method: LNL, fabric: Fabric) -> Batch:
    return toy_batches(method, toy_data(), fabric)(torch.arange(32), 0)


def updates(method: LNL, batch: Batch) -> list[tuple[Tensor, tuple[str, ...]]]:
    """What a step minimises, with the graph kept and no parameter moved."""
    seen: list[tuple[Tensor, tuple[str, ...]]] = []
    method.step(batch, lambda loss, *groups: seen.append((loss, groups)))
    return seen


def test_two_updates_for_each_batch(fabric: Fabric) -> None:
    method = make(lam=3.0)
    batch = batch_for(method, fabric)
    (first, first_groups), (second, second_groups) = updates(method, batch)
    assert first_groups == ("net",) and second_groups == ("net", "predictor")
    pooled = method.net.conv(batch.x).mean((2, 3))  # type: ignore[operator]
    p = (pooled @ method.predictor[-1].weight.T + method.predictor[-1].bias).softmax(1).tolist()
    negative_entropy = sum(v * math.log(v) for row in p for v in row) / len(p)
    ce = F.cross_entropy(method.net(batch.x).logits, batch.y).item()
    assert first.item() == pytest.approx(ce + 3 * negative_entropy, rel=1e-5)
    guess = -sum(math.log(row[b]) for row, b in zip(p, batch.bias.tolist(), strict=True)) / len(p)
    assert second.item() == pytest.approx(guess, rel=1e-5)


def test_the_adversary_does_not_move_in_the_first_update(fabric: Fabric) -> None:
    method = make(lam=1.0)
    optimisation = Optimisation(method, toy_config("lnl").train, fabric)
    before = [p.detach().clone() for p in method.predictor.parameters()]
    stages = []

    def watch(loss: Tensor, *groups: str) -> None:
        optimisation(loss, *groups)
        grads = [p.grad is not None for p in method.predictor.parameters()]
        moved = [not torch.equal(a, b) for a, b in zip(before, method.predictor.parameters(), strict=True)]
        stages.append((all(grads), any(grads), all(moved), any(moved)))

    method.step(batch_for(method, fabric), watch)
    assert stages == [(False, False, False, False), (True, True, True, True)]


def test_the_second_update_is_not_mixed_with_the_first(fabric: Fabric) -> None:
    """The classifier takes no part in it, and every gradient is that of the adversary's loss alone."""
    method = make(lam=50.0)
    batch = batch_for(method, fabric)
    optimisation = Optimisation(method, toy_config("lnl").train, fabric)
    expected: list[tuple[Tensor, ...]] = []
    trained = [method.net.conv.weight, *method.predictor.parameters()]  # type: ignore[union-attr,list-item]

    def watch(loss: Tensor, *groups: str) -> None:
        expected.append(torch.autograd.grad(loss, trained, retain_graph=True))
        optimisation(loss, *groups)

    method.step(batch, watch)
    assert all(p.grad is None for p in method.net.fc.parameters())  # type: ignore[union-attr]
    for parameter, grad in zip(trained, expected[1], strict=True):
        torch.testing.assert_close(parameter.grad, grad)


def test_the_first_update_does_not_know_the_attribute(fabric: Fabric) -> None:
    method = make(lam=1.0)
    batch = batch_for(method, fabric)
    swapped = Batch(batch.views, batch.y, batch.index, 1 - batch.bias)
    grads = []
    for case in (batch, swapped):
        first = updates(method, case)[0][0]
        grads.append(torch.autograd.grad(first, list(method.net.parameters())))
    for one, other in zip(*grads, strict=True):
        assert torch.equal(one, other)


def test_the_reversal_reverses(fabric: Fabric) -> None:
    method = make(reversal=0.1)
    batch = batch_for(method, fabric)
    second = updates(method, batch)[1][0]
    weights = [method.net.conv.weight, method.predictor[-1].weight]  # type: ignore[union-attr,list-item]
    into_net, into_predictor = torch.autograd.grad(second, weights)  # type: ignore[arg-type]
    _, middle = method._listen(batch.x)
    plain = torch.autograd.grad(F.cross_entropy(method.predictor(middle), batch.bias), weights)  # type: ignore[arg-type]
    torch.testing.assert_close(into_net, -0.1 * plain[0])
    torch.testing.assert_close(into_predictor, plain[1])
    assert plain[0].abs().max() > 0


def test_a_reversed_tensor_is_the_same_tensor() -> None:
    x = torch.randn(3, requires_grad=True)
    y = reverse_gradient(x, 0.5)
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert torch.equal(x, y) and x.grad is not None and x.grad.tolist() == [-0.5, -1.0, -1.5]


def test_no_ear_stays_behind(fabric: Fabric) -> None:
    method = make()
    method.step(batch_for(method, fabric), lambda loss, *groups: None)
    assert not method.net.conv._forward_hooks  # type: ignore[union-attr]


def adversary_after_training(folder: Path, fabric: Fabric, **options: float | str) -> float:
    """Its loss in the last epoch; ln 2 = 0.69 is that of one who knows nothing."""
    training = prepared_training(make(**options), toy_data(400, 0.05), folder, fabric, epochs=8)
    return float(training.fit("lnl", silent=True).history[-1]["adversary"])


def test_the_network_learns_to_tell_nothing(fabric: Fabric, tmp_path: Path) -> None:
    assert adversary_after_training(tmp_path / "listening", fabric, lam=0.0, reversal=0.0) < 0.1
    assert adversary_after_training(tmp_path / "lnl", fabric, lam=1.0) > 0.6


def test_leans_less_on_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    """Vanilla has 0. The adversary lags behind the network that it listens to, so that some of the shade remains."""
    assert conflicting_accuracy("lnl", tmp_path, fabric, lam=10.0) > 0.1
