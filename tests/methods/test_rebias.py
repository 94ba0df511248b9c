"""ReBias' two updates, one after the other."""

import copy
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.losses.hsic import hsic
from fairflac.methods.rebias import ReBias
from fairflac.types import Batch
from toy import TASK, PixelNet, ToyNet, conflicting_accuracy, toy_batches, toy_data


def batch_of(method: ReBias, fabric: Fabric, size: int = 16) -> Batch:
    return toy_batches(method, toy_data(), fabric)(torch.arange(size), 0)


def test_g_moves_first_and_f_meets_the_new_g(fabric: Fabric) -> None:
    torch.manual_seed(0)
    method = ReBias(ToyNet(2), TASK, PixelNet(2), lam_f=3.0, lam_g=2.0, sigma=0.5)
    batch, old = batch_of(method, fabric), copy.deepcopy(method)
    seen: list[tuple[Tensor, tuple[str, ...]]] = []

    def minimise(loss: Tensor, *groups: str) -> None:
        seen.append((loss.detach().clone(), groups))
        if groups == ("biased_net",):
            with torch.no_grad():
                for parameter in method.biased_net.parameters():
                    parameter += 0.1

    logs = method.step(batch, minimise)
    f, g, moved = old.net(batch.x), old.biased_net(batch.x), method.biased_net(batch.x)
    for_g = F.cross_entropy(g.logits, batch.y) - 2 * hsic(f.features, g.features, sigma=0.5)
    for_f = F.cross_entropy(f.logits, batch.y) + 3 * hsic(f.features, moved.features, sigma=0.5)
    assert [groups for _, groups in seen] == [("biased_net",), ("net",)]
    torch.testing.assert_close([loss for loss, _ in seen], [for_g.detach(), for_f.detach()])
    torch.testing.assert_close(logs["hsic"], hsic(f.features, moved.features, sigma=0.5).detach())


def test_g_becomes_more_dependent_and_f_less(fabric: Fabric) -> None:
    """The signs of the game, whatever the cross-entropies do."""
    torch.manual_seed(0)
    method = ReBias(ToyNet(2), TASK, PixelNet(2), lam_f=1e4, lam_g=1e4)
    batch = batch_of(method, fabric, 64)
    with torch.no_grad():
        values = [hsic(method.net(batch.x).features, method.biased_net(batch.x).features)]

    def minimise(loss: Tensor, *groups: str) -> None:
        parameters = list(getattr(method, groups[0]).parameters())
        with torch.no_grad():
            for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                parameter -= gradient / 1e4  # of HSIC: the cross-entropies are next to nothing
            values.append(hsic(method.net(batch.x).features, method.biased_net(batch.x).features))

    method.step(batch, minimise)
    assert values[0] < values[1] and values[2] < values[1]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_batches_are_plain_cross_entropy(size: int, fabric: Fabric) -> None:
    method = ReBias(ToyNet(2), TASK, PixelNet(2))
    batch = batch_of(method, fabric, size)
    logs = method.step(batch, lambda loss, *groups: None)
    torch.testing.assert_close(logs["loss"], F.cross_entropy(method.net(batch.x).logits, batch.y).detach())


def test_escapes_what_single_pixels_can_see(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("rebias", tmp_path, fabric, PixelNet, lam_f=30.0, lam_g=30.0) > 0.7
