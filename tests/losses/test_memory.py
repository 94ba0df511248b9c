"""Features of past batches: what is kept, and that the loss over them is the dense one, by hand."""

import pytest
import torch

from fairflac.losses import DenseFLACLoss, FLACLoss
from fairflac.losses.alpha import DECAY, GradientBalance
from fairflac.losses.memory import FeatureMemory


def batch(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    y, attribute = torch.randint(0, 2, (2, n), generator=g)
    b = torch.eye(2, dtype=torch.float64)[attribute] + 0.1 * torch.rand(n, 2, generator=g, dtype=torch.float64)
    return b, torch.rand(n, 5, generator=g, dtype=torch.float64).requires_grad_(), y


def test_first_in_first_out() -> None:
    memory = FeatureMemory(5)
    assert memory(torch.arange(2.0), torch.arange(2))[0].tolist() == [0, 1] and memory.scale == 1
    for start in (2, 4):
        memory(torch.arange(start, start + 2.0), torch.arange(start, start + 2))
    copy = FeatureMemory(5)
    copy.load_state_dict(memory.state_dict())
    for one in (memory, copy):
        values, names = one(torch.tensor([9.0]), torch.tensor([9]))
        assert values.tolist() == [9, 4, 5, 2, 3, 0] and names.tolist() == [9, 4, 5, 2, 3, 0] and one.scale == 6


def test_the_loss_over_memory_is_that_of_all_samples() -> None:
    """Value and gradient of the dense form over the past and the present, where only the present moves."""
    memory, parts = FeatureMemory(12), [batch(6, seed) for seed in range(3)]
    for part in parts[:2]:
        memory(*part)
    b, h, y = parts[2]
    value = FLACLoss()(*memory(b, h, y))
    order = [2, 1, 0]
    whole = [torch.cat([parts[k][column].detach() for k in order]) for column in range(3)]
    whole[1].requires_grad_()
    expected = DenseFLACLoss()(*whole)
    assert value.item() == pytest.approx(expected.item(), rel=1e-10)
    (of_all,), (ours,) = torch.autograd.grad(expected, whole[1]), torch.autograd.grad(value, h)
    torch.testing.assert_close(ours, of_all[:6])
    assert ours.abs().max() > 0 and all(not kept.requires_grad for kept in memory.kept)


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
