"""LfF's step against its algorithm written out sample by sample."""

import math
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.methods.lff import LfF
from fairflac.types import Batch
from toy import TASK, ToyNet, conflicting_accuracy, toy_batches, toy_data


def probability(logits: Tensor, y: int) -> float:
    exponentials = [math.exp(value) for value in logits.tolist()]
    return exponentials[y] / sum(exponentials)


def two_steps(method: LfF, fabric: Fabric) -> tuple[list[Batch], list[float]]:
    """Two batches that overlap, without an update between them."""
    batches = toy_batches(method, toy_data(), fabric)
    method.prepare(batches.everything())
    chosen = [batches(torch.arange(0, 12), 0), batches(torch.arange(6, 18), 0)]
    # Another picture of the same samples, so that their losses differ from those of the first visit.
    chosen[1] = Batch((chosen[1].x + 0.5,), chosen[1].y, chosen[1].index)
    return chosen, [float(method.step(batch, lambda loss, *groups: None)["loss"]) for batch in chosen]


def test_equals_the_algorithm(fabric: Fabric) -> None:
    torch.manual_seed(0)
    method = LfF(ToyNet(2), TASK, ToyNet(2), gce_q=0.6, loss_decay=0.8)
    batches, losses = two_steps(method, fabric)
    table: dict[str, dict[int, float]] = {"biased": {}, "debiased": {}}
    classes: dict[int, int] = {}
    for batch, loss in zip(batches, losses, strict=True):
        nets = {"biased": method.biased_net(batch.x).logits, "debiased": method.net(batch.x).logits}
        samples = list(enumerate(zip(batch.index.tolist(), batch.y.tolist(), strict=True)))
        for row, (index, y) in samples:
            classes[index] = y
            for kind, logits in nets.items():
                new, old = -math.log(probability(logits[row], y)), table[kind].get(index)
                table[kind][index] = new if old is None else 0.8 * old + 0.2 * new
        total = 0.0
        for row, (index, y) in samples:
            hardest = {kind: max(v for i, v in seen.items() if classes[i] == y) for kind, seen in table.items()}
            hard = {kind: table[kind][index] / hardest[kind] for kind in table}
            weight = hard["biased"] / (hard["biased"] + hard["debiased"])
            p_biased = probability(nets["biased"][row], y)
            total += (1 - p_biased**0.6) / 0.6 - weight * math.log(probability(nets["debiased"][row], y))
        assert loss == pytest.approx(total / len(samples), rel=1e-5)


def test_no_gradient_through_the_weights_or_into_the_other_network(fabric: Fabric) -> None:
    """The biased net follows GCE alone, and the net a cross-entropy whose weights are numbers."""
    torch.manual_seed(0)
    method = LfF(ToyNet(2), TASK, ToyNet(2))
    batches = toy_batches(method, toy_data(), fabric)
    method.prepare(batches.everything())
    batch, seen = batches(torch.arange(16), 0), []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    p = method.biased_net(batch.x).logits.softmax(1)[torch.arange(16), batch.y]
    alone = torch.autograd.grad(((1 - p**0.7) / 0.7).mean(), list(method.biased_net.parameters()))
    inside = torch.autograd.grad(seen[0], list(method.biased_net.parameters()))
    for mine, theirs in zip(alone, inside, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_the_tables_hold_a_loss_for_each_sample_and_are_saved(fabric: Fabric) -> None:
    """A batch mean in their place would make all weights of a class equal."""
    torch.manual_seed(0)
    method = LfF(ToyNet(2), TASK, ToyNet(2))
    two_steps(method, fabric)
    for table in (method.difficulty.biased, method.difficulty.debiased):
        assert len(set(table.values[:18].tolist())) == 18
        assert table.values[18:].isnan().all()
    copy = LfF(ToyNet(2), TASK, ToyNet(2))
    copy.load_state_dict(method.state_dict())
    saved = copy.difficulty.biased.values
    torch.testing.assert_close(saved, method.difficulty.biased.values, rtol=0, atol=0, equal_nan=True)


def test_escapes_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("lff", tmp_path, fabric) > 0.9
