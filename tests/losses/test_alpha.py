"""alpha from the gradients of both losses."""

import pytest
import torch

from fairflac.losses import FLACLoss
from fairflac.losses.alpha import DECAY, GradientBalance


def batch(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    y, attribute = torch.randint(0, 2, (2, n), generator=g)
    b = torch.eye(2, dtype=torch.float64)[attribute] + 0.1 * torch.rand(n, 2, generator=g, dtype=torch.float64)
    return b, torch.rand(n, 5, generator=g, dtype=torch.float64).requires_grad_(), y


def test_alpha_gives_flac_its_share_of_the_pull() -> None:
    balance, (b, h, y) = GradientBalance(0.75), batch(16, 0)
    head = torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    losses = torch.nn.functional.cross_entropy(h @ head, y), FLACLoss()(b, h, y)
    pulls = [float(torch.autograd.grad(loss, h, retain_graph=True)[0].norm()) for loss in losses]
    alpha = float(balance(*losses, h))
    assert alpha * pulls[1] / (alpha * pulls[1] + pulls[0]) == pytest.approx(0.75)
    assert float(balance(losses[0], 10 * losses[1], h)) == pytest.approx(alpha / (DECAY + 10 * (1 - DECAY)))


def test_no_pair_yet_is_no_alpha() -> None:
    balance, (b, h, _) = GradientBalance(0.5), batch(4, 0)
    empty = FLACLoss()(torch.zeros_like(b), h, torch.zeros(4, dtype=torch.int64))
    assert float(balance(h.square().sum(), empty, h)) == 0
    assert float(GradientBalance(0.0)(h.square().sum(), h.sum(), h)) == 0
