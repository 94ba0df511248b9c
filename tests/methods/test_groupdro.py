"""GroupDRO against Algorithm 1 written as a loop over groups."""

import math
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.data.batches import epoch_batches
from fairflac.losses.reweighting import group_means
from fairflac.methods.groupdro import GroupDRO
from fairflac.types import Batch
from toy import TASK, ToyNet, conflicting_accuracy, toy_batches, toy_data


def make(**options: float | bool) -> GroupDRO:
    torch.manual_seed(0)
    return GroupDRO(ToyNet(2), TASK, **options)  # type: ignore[arg-type]


def labels(y: list[int], bias: list[int]) -> Batch:
    n = len(y)
    x = torch.rand(n, 3, 6, 6, generator=torch.Generator().manual_seed(n))
    return Batch((x,), torch.tensor(y), torch.arange(n), torch.tensor(bias))


def take_step(method: GroupDRO, batch: Batch) -> Tensor:
    seen: list[Tensor] = []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    return seen[0]


def test_two_steps_of_the_algorithm(fabric: Fabric) -> None:
    method = make(eta_q=0.3, adjustment=2.0)
    data = toy_data()
    batches = toy_batches(method, data, fabric)
    method.prepare(batches.everything())
    cells = list(product(range(2), range(2)))
    of_sample = list(zip(data.y.tolist(), data.bias["shade"].tolist(), strict=True))
    q = dict.fromkeys(cells, 1 / 4)
    for start in (0, 32):
        batch = batches(torch.arange(start, start + 32), 0)
        losses = F.cross_entropy(method.net(batch.x).logits, batch.y, reduction="none").tolist()
        mean = {}
        for cell in cells:
            own = [loss for loss, i in zip(losses, batch.index.tolist(), strict=True) if of_sample[i] == cell]
            mean[cell] = sum(own) / len(own)
            q[cell] *= math.exp(0.3 * (mean[cell] + 2 / math.sqrt(of_sample.count(cell))))
        total = sum(q.values())
        q = {cell: weight / total for cell, weight in q.items()}
        loss = take_step(method, batch)
        assert loss.item() == pytest.approx(sum(q[cell] * mean[cell] for cell in cells), rel=1e-5)
        assert method.groups.q.tolist() == pytest.approx([q[cell] for cell in cells], rel=1e-5)
    assert len({round(weight, 4) for weight in q.values()}) == 4


def test_no_two_groups_share_a_weight() -> None:
    method = make()
    cells = list(product(range(2), range(2)))
    groups = method._group(labels([y for y, _ in cells], [bias for _, bias in cells]))
    assert sorted(groups.tolist()) == [0, 1, 2, 3]


def test_every_group_of_a_batch_has_a_loss() -> None:
    losses, present = group_means(torch.tensor([1.0, 3.0, 5.0, 8.0]), torch.tensor([2, 2, 0, 3]), 5)
    assert losses.tolist() == [5, 0, 2, 8, 0] and present.tolist() == [True, False, True, True, False]


def test_groups_absent_from_a_batch_keep_their_weight() -> None:
    """But for the common scale, even where they have the largest adjustment."""
    method = make(eta_q=1.0, adjustment=3.0)
    method.prepare(labels([0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 0, 1, 1]))
    method.groups.q = torch.tensor([0.1, 0.2, 0.3, 0.4])
    take_step(method, labels([0, 0], [0, 0]))
    assert method.groups.q.sum().item() == pytest.approx(1)
    assert method.groups.q[0] > 0.1
    absent = method.groups.q[1:] / method.groups.q[1:].sum()
    torch.testing.assert_close(absent, torch.tensor([2 / 9, 3 / 9, 4 / 9]))


def test_groups_without_samples_take_no_weight() -> None:
    method = make()
    method.prepare(labels([0, 0, 1], [0, 1, 1]))
    assert method.groups.q.tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    take_step(method, labels([0, 1], [0, 1]))
    assert method.groups.q[2] == 0


def test_the_worst_group_gains() -> None:
    method = make(eta_q=0.5)
    batch = labels([0, 0, 1, 1], [0, 1, 0, 1])
    method.prepare(batch)
    losses = F.cross_entropy(method.net(batch.x).logits, batch.y, reduction="none")
    take_step(method, batch)
    assert method.groups.q.argmax() == losses.argmax() and method.groups.q.argmin() == losses.argmin()


def test_groups_are_drawn_equally_often() -> None:
    method = make()
    training_set = labels([0] * 90 + [0] * 5 + [1] * 5, [0] * 90 + [1] * 5 + [1] * 5)
    method.prepare(training_set)
    weights = method.sample_weights()
    drawn = torch.cat([epoch_batches(100, 100, seed=0, epoch=e, weights=weights)[0] for e in range(60)])
    shares = method._group(training_set)[drawn].bincount() / len(drawn)
    assert shares.tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3], abs=0.03)
    plain = make(balanced=False)
    plain.prepare(training_set)
    assert plain.sample_weights() is None


@pytest.mark.parametrize("balanced", [True, False])
def test_does_not_fall_for_the_shortcut(balanced: bool, fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("groupdro", tmp_path, fabric, balanced=balanced) > 0.9
