"""EnD against the paper's formulas written as loops over pairs."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.losses.contrastive import disentangling_loss, entangling_loss
from fairflac.methods.end import EnD
from toy import TASK, ToyNet, conflicting_accuracy, toy_batches, toy_data


def cosine(a: Tensor, b: Tensor) -> float:
    return ((a * b).sum() / (a.norm() * b.norm())).item()


def disentangling_by_hand(features: Tensor, bias: Tensor) -> float:
    total, pairs = 0.0, 0
    for value in set(bias.tolist()):
        members = [i for i in range(len(bias)) if bias[i] == value]
        sums = [cosine(features[i], features[j]) for i in members for j in members if i < j]
        total, pairs = total + abs(sum(sums)), pairs + len(sums)
    return total / max(pairs, 1)


def entangling_by_hand(features: Tensor, y: Tensor, bias: Tensor) -> float:
    chosen = [(i, j) for i in range(len(y)) for j in range(i) if y[i] == y[j] and bias[i] != bias[j]]
    if not chosen:
        return 0.0
    return 1 - sum((1 + cosine(features[i], features[j])) / 2 for i, j in chosen) / len(chosen)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 4), st.integers(1, 4))
def test_regularisers(seed: int, n: int, classes: int, values: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(n, 3, dtype=torch.float64, generator=generator)
    y, bias = (torch.randint(k, (n,), generator=generator) for k in (classes, values))
    assert disentangling_loss(features, bias).item() == pytest.approx(disentangling_by_hand(features, bias))
    assert entangling_loss(features, y, bias).item() == pytest.approx(entangling_by_hand(features, y, bias), abs=1e-12)
    order = torch.randperm(n, generator=generator)
    torch.testing.assert_close(
        entangling_loss(features[order], y[order], bias[order]), entangling_loss(features, y, bias)
    )


@pytest.mark.parametrize("bias", [[0, 1], [1, 0]])
def test_a_pair_counts_whichever_value_comes_first(bias: list[int]) -> None:
    features = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    assert entangling_loss(features, torch.zeros(2), torch.tensor(bias)) == 1


def test_without_pairs_there_is_nothing_to_pay() -> None:
    features = torch.randn(3, 4, requires_grad=True)
    alone = torch.arange(3)
    loss = disentangling_loss(features, alone) + entangling_loss(features, alone, torch.zeros(3))
    loss.backward()
    assert loss == 0 and features.grad is not None and features.grad.abs().sum() == 0


def test_features_without_length_have_finite_gradients() -> None:
    features = torch.zeros(4, 3, requires_grad=True)
    y, bias = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1])
    (disentangling_loss(features, bias) + entangling_loss(features, y, bias)).backward()
    assert features.grad is not None and features.grad.isfinite().all()


def test_the_regularisers_are_in_the_loss(fabric: Fabric) -> None:
    method = EnD(ToyNet(2), TASK, alpha=3.0, beta=5.0)
    batch, seen = toy_batches(method, toy_data(), fabric)(torch.arange(24), 0), []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    output = method.net(batch.x)
    ce = F.cross_entropy(output.logits, batch.y).item()
    first = disentangling_by_hand(output.features, batch.bias)
    second = entangling_by_hand(output.features, batch.y, batch.bias)
    assert seen[0].item() == pytest.approx(ce + 3 * first + 5 * second, rel=1e-4)
    assert seen[0].item() > ce + 0.1  # a peer's EnD is plain cross-entropy


def test_does_not_fall_for_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("end", tmp_path, fabric, alpha=10.0, beta=10.0) > 0.9
