"""SupCon against pytorch-metric-learning, and against a slow loop where weights are soft."""

import math

import pytest
import torch
from pytorch_metric_learning.losses import SupConLoss
from torch import Tensor

from fairflac.losses.contrastive import supcon_loss


def two_views(seed: int = 0, n: int = 12, classes: int = 3) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    return torch.randn(2 * n, 5, generator=g, dtype=torch.float64), y.repeat(2)


@pytest.mark.parametrize("temperature", [0.07, 0.5])
def test_equals_pytorch_metric_learning(temperature: float) -> None:
    for seed in range(3):
        z, y = two_views(seed)
        z.requires_grad_()
        ours, theirs = supcon_loss(z, y, temperature=temperature), SupConLoss(temperature=temperature)(z, y)
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(torch.autograd.grad(ours, z)[0], torch.autograd.grad(theirs, z)[0])


def test_soft_weights_equal_a_slow_loop() -> None:
    z, y = two_views(1, n=6)
    weights = torch.rand(12, 12, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    unit = [[value / math.dist(row, [0] * 5) for value in row] for row in z.tolist()]
    total = 0.0
    for i in range(12):
        s = [sum(a * b for a, b in zip(unit[i], unit[j], strict=True)) / 0.07 for j in range(12)]
        log_sum = math.log(sum(math.exp(s[j]) for j in range(12) if j != i))
        positives = [j for j in range(12) if j != i and y[i] == y[j]]
        weight = sum(float(weights[i, j]) for j in positives)
        total -= sum(float(weights[i, j]) * (s[j] - log_sum) for j in positives) / weight
    assert float(supcon_loss(z, y, weights=weights)) == pytest.approx(total / 12)


def test_anchors_without_positives_contribute_nothing() -> None:
    z = torch.randn(4, 3, requires_grad=True)
    alone = supcon_loss(z, torch.arange(4))
    assert alone == 0
    alone.backward()
    assert z.grad is not None and torch.equal(z.grad, torch.zeros(4, 3))
    no_weight = supcon_loss(z, torch.zeros(4), weights=torch.zeros(4, 4))
    assert no_weight == 0


def test_gradient_and_half_precision() -> None:
    z, y = two_views(3, n=4)
    assert torch.autograd.gradcheck(lambda x: supcon_loss(x, y, temperature=0.5), (z.requires_grad_(),))
    half = z.detach().bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        assert supcon_loss(half, y).dtype == torch.float32
