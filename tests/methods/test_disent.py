"""DisEnt and DisEnt+BE against the paper's losses on features side by side."""

import math
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.methods.disent import DisEnt, DisEntBE
from fairflac.types import Batch, Output
from toy import TASK, PixelNet, ToyNet, conflicting_accuracy, toy_batches, toy_data

B = 12
each = pytest.mark.parametrize("kind", [DisEnt, DisEntBE])
Kind = type[DisEnt] | type[DisEntBE]
WEIGHTS = {"lam_dis": 3.0, "lam_swap": 0.5, "lam_swap_biased": 2.0}


def make(kind: Kind, warm_up: int = 0) -> DisEnt | DisEntBE:
    torch.manual_seed(0)
    return kind(ToyNet(2), TASK, PixelNet(2), warm_up=warm_up, **WEIGHTS)


def batch_of(method: DisEnt | DisEntBE, fabric: Fabric) -> Batch:
    batches = toy_batches(method, toy_data(), fabric)
    method.prepare(batches.everything())
    return batches(torch.arange(B), 0)


def whole_head(network: ToyNet | PixelNet, across: Tensor, own_first: bool) -> tuple[list[list[float]], list[float]]:
    """(C, 2D) weights of the head on [z_i; z_b], and its offsets."""
    parts = [network.fc.weight, across] if own_first else [across, network.fc.weight]
    return torch.cat(parts, dim=1).tolist(), network.fc.bias.tolist()


def cross_entropy(head: tuple[list[list[float]], list[float]], z: list[float], y: int) -> float:
    scores = [sum(w * v for w, v in zip(row, z, strict=True)) + c for row, c in zip(*head, strict=True)]
    return math.log(sum(math.exp(s) for s in scores)) - scores[y]


def slow_loss(method: DisEnt | DisEntBE, batch: Batch, swaps: bool) -> float:
    """The paper's loss at the first visit of these samples, whose partner is the one before."""
    assert isinstance(method.net, ToyNet) and isinstance(method.biased_net, PixelNet)
    z_i, z_b = method.net(batch.x).features.tolist(), method.biased_net(batch.x).features.tolist()
    c_i = whole_head(method.net, method.across.weight, own_first=True)
    c_b = whole_head(method.biased_net, method.biased_across.weight, own_first=False)
    y = batch.y.tolist()
    keeps = [True] * B if isinstance(method, DisEnt) else [bool(batch.bias_logits[i, y[i]] > 0.5) for i in range(B)]
    own = [cross_entropy(c_i, z_i[i] + z_b[i], y[i]) for i in range(B)]
    biased = [cross_entropy(c_b, z_i[i] + z_b[i], y[i]) for i in range(B)]

    def easy(ce: float) -> float:
        return (1 - math.exp(-ce) ** 0.7) / 0.7 if isinstance(method, DisEnt) else ce

    def hard(losses: list[float], i: int) -> float:
        return losses[i] / max(loss for loss, label in zip(losses, y, strict=True) if label == y[i])

    w = [hard(biased, i) / (hard(biased, i) + hard(own, i)) for i in range(B)]
    total = sum(w[i] * own[i] for i in range(B)) / B
    total += WEIGHTS["lam_dis"] * sum(easy(biased[i]) for i in range(B) if keeps[i]) / sum(keeps)
    if swaps:
        part = sum(w[i] * cross_entropy(c_i, z_i[i] + z_b[i - 1], y[i]) for i in range(B)) / B
        swapped = [easy(cross_entropy(c_b, z_i[i] + z_b[i - 1], y[i - 1])) for i in range(B) if keeps[i - 1]]
        part += WEIGHTS["lam_swap_biased"] * sum(swapped) / sum(keeps)
        total += WEIGHTS["lam_swap"] * part
    return total


@each
@pytest.mark.parametrize("warm_up", [0, 1])
def test_equals_the_equations(kind: Kind, warm_up: int, fabric: Fabric) -> None:
    method = make(kind, warm_up)
    batch = batch_of(method, fabric)
    loss = method.step(batch, lambda loss, *groups: None)["loss"]
    assert float(loss) == pytest.approx(slow_loss(method, batch, swaps=False), rel=1e-5)
    # A second visit with the same weights has the same averages. The public code swaps where its count of steps, from
    # 0 on, is above the warm-up.
    again = method.step(batch, lambda loss, *groups: None)["loss"]
    assert float(again) == pytest.approx(slow_loss(method, batch, swaps=warm_up == 0), rel=1e-5)


def gradients(method: DisEnt | DisEntBE, batch: Batch, group: str) -> list[Tensor]:
    seen: list[Tensor] = []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    return list(torch.autograd.grad(seen[0], list(method.parameter_groups()[group])))


@each
def test_gradients_do_not_cross(kind: Kind, fabric: Fabric) -> None:
    """Without the biased terms the net has the same gradients, and the biased net none."""
    plain, other = make(kind), make(kind)
    other.lam_dis, other.lam_swap_biased = 0.0, 0.0
    batch = batch_of(plain, fabric)
    batch_of(other, fabric)
    torch.testing.assert_close(gradients(plain, batch, "net"), gradients(other, batch, "net"))
    assert all(not gradient.any() for gradient in gradients(other, batch, "biased_net"))


@each
def test_the_swap_begins_after_the_warm_up_and_is_counted_in_the_checkpoint(kind: Kind, fabric: Fabric) -> None:
    method = make(kind, warm_up=3)
    batch = batch_of(method, fabric)
    swaps = [float(method.step(batch, lambda loss, *groups: None)["swap"]) for _ in range(3)]
    resumed = make(kind, warm_up=3)
    resumed.load_state_dict(method.state_dict())
    resumed.difficulty.y = method.difficulty.y
    resumed.begin_epoch(0, [])
    swaps += [float(resumed.step(batch, lambda loss, *groups: None)["swap"]) for _ in range(2)]
    assert swaps[:4] == [0, 0, 0, 0] and swaps[4] > 0


def with_votes(batch: Batch, votes: Tensor) -> Batch:
    return Batch(batch.views, batch.y, batch.index, None, Output(votes, batch.bias_features))


def test_three_votes_of_five_are_enough(fabric: Fabric) -> None:
    method = make(DisEntBE)
    batch = batch_of(method, fabric)
    share = torch.arange(6)[torch.arange(B) % 6] / 5  # 0/5 to 5/5
    votes = torch.ones(B, 2).scatter(1, batch.y[:, None], share[:, None])
    assert method.kept(with_votes(batch, votes)).tolist() == [0, 0, 0, 1, 1, 1] * 2


def test_no_sample_kept_is_a_zero(fabric: Fabric) -> None:
    method = make(DisEntBE)
    batch = batch_of(method, fabric)
    nobody = with_votes(batch, torch.zeros(B, 2))
    assert all(not gradient.any() for gradient in gradients(method, nobody, "biased_net"))
    logs = method.step(nobody, lambda loss, *groups: None)
    assert all(value.isfinite() for value in logs.values())


@pytest.mark.parametrize("kind", ["disent", "disent-be"])
def test_escapes_the_shortcut(kind: str, fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy(kind, tmp_path, fabric, warm_up=120) > 0.8
