"""FLAC's step against its parts computed one by one."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric

from fairflac.errors import UserError
from fairflac.losses import FLACLoss
from fairflac.losses.contrastive import supcon_loss
from fairflac.losses.flac import Combine
from fairflac.methods.balanced import Balanced
from fairflac.methods.flac import FLAC, FLACB
from fairflac.nets.small import SimpleConvNet
from fairflac.training.pipeline import Batches
from fairflac.types import Batch
from toy import TASK, ToyNet, toy_batches, toy_bias, toy_config, toy_data, toy_second_bias


def batch_of(method: FLAC | FLACB, fabric: Fabric) -> Batch:
    return toy_batches(method, toy_data(), fabric)(torch.arange(32), 0)


@pytest.mark.parametrize("kind", [FLAC, FLACB])
def test_cross_entropy_and_flac(kind: type[FLAC] | type[FLACB], fabric: Fabric) -> None:
    method = kind(ToyNet(2), TASK, alpha=7.0, ce_weight=0.3, exponent=1.0)
    batch, seen = batch_of(method, fabric), []
    logs = method.step(batch, lambda loss, *groups: seen.append(loss))
    output = method.net(batch.x)
    flac = FLACLoss(exponent=1.0)(batch.bias_features, output.features, batch.y)
    torch.testing.assert_close(seen[0], 0.3 * F.cross_entropy(output.logits, batch.y) + 7 * flac)
    torch.testing.assert_close(logs["flac"], flac.detach())
    assert flac > 0 and logs["pairs"] > 0


def test_supcon_sees_two_views(fabric: Fabric) -> None:
    method = FLAC(ToyNet(2), TASK, alpha=7.0, task="supcon")
    plain = batch_of(method, fabric)
    assert len(plain.views) == 2
    torch.manual_seed(0)
    views = (plain.views[0], plain.views[1] + 0.1 * torch.randn_like(plain.views[1]))
    batch, seen = Batch(views, plain.y, plain.index, None, plain._bias_output), []
    method.step(batch, lambda loss, *groups: seen.append(loss))
    first, second = (method.net(view) for view in views)
    features, y = torch.cat([first.features, second.features]), torch.cat([batch.y, batch.y])
    bias = torch.cat([batch.bias_features, batch.bias_features])
    ce = F.cross_entropy(torch.cat([first.logits, second.logits]), y)
    expected = supcon_loss(features, y) + 0.01 * ce + 7 * FLACLoss()(bias, features, y)
    torch.testing.assert_close(seen[0], expected)


def test_micro_batches_change_neither_loss_nor_stats(fabric: Fabric) -> None:
    def step(micro_batch: int | None) -> dict[str, torch.Tensor]:
        torch.manual_seed(0)
        method = FLAC(ToyNet(2), TASK, task="supcon", micro_batch=micro_batch)
        seen: list[int] = []
        method.net.register_forward_pre_hook(lambda net, inputs: seen.append(len(inputs[0])))
        logs = method.step(batch_of(method, fabric), lambda loss, *groups: loss.backward())
        assert seen == ([64] if micro_batch is None else [8] * 16)
        gradients = {name: p.grad for name, p in method.net.named_parameters() if p.grad is not None}
        return logs | gradients

    torch.testing.assert_close(step(8), step(None), rtol=1e-5, atol=1e-6)
    with pytest.raises(UserError, match="beside micro_batch set alpha"):
        FLAC(ToyNet(2), TASK, strength=0.5, micro_batch=8)


def test_ablations_reach_the_loss(fabric: Fabric, tmp_path: Path) -> None:
    values = set()
    for options in (
        {},
        {"kernel": "rbf"},
        {"divergence": "kl"},
        {"pairs": "all"},
        {"pairs": "same-target"},
        {"targets": "reachable"},
    ):
        torch.manual_seed(0)
        method = FLAC(ToyNet(2), TASK, **options)  # type: ignore[arg-type]
        values.add(float(method.step(batch_of(method, fabric), lambda loss, *groups: None)["flac"]))
    assert len(values) == 6


def test_a_loss_that_cannot_fall_says_what_to_do() -> None:
    means = {"spread": 0.5, "pairs": 3.0, "out_of_reach": 0.5}
    stuck, falls, reaches = (FLAC(ToyNet(2), TASK) for _ in range(3))
    for epoch in range(4):  # too early to tell
        assert stuck.advice({**means, "flac": 0.17 + 0.01 * epoch}) is None
    assert "50 % of its pairs" in str(stuck.advice({**means, "flac": 0.19}))
    assert [falls.advice({**means, "flac": value}) for value in (0.058, 0.053, 0.063, 0.047, 0.055)] == [
        None
    ] * 5  # the digits
    assert [reaches.advice({**means, "flac": 0.1, "out_of_reach": 0.0}) for _ in range(6)] == [None] * 6


@pytest.mark.parametrize("combine", ["sum", "max", "joint"])
def test_several_attributes_are_matched_to_their_own_bias_models(combine: Combine, fabric: Fabric) -> None:
    method = FLAC(ToyNet(2), TASK, alpha=7.0, task="supcon", bias_output="probabilities", combine=combine)
    source = replace(toy_bias(toy_data()), others=(toy_second_bias(toy_data()),))
    batch, seen = Batches(method, toy_data(), toy_config("flac"), fabric, source)(torch.arange(32), 0), []
    assert [output.logits.shape[1] for output in batch.bias_outputs] == [2, 3]
    logs = method.step(batch, lambda loss, *groups: seen.append(loss))
    features = method.net(torch.cat(batch.views)).features
    probabilities = [output.logits.softmax(1).repeat(2, 1) for output in batch.bias_outputs]
    flac = FLACLoss(combine=combine)(probabilities, features, batch.y.repeat(2))
    torch.testing.assert_close(logs["flac"], flac.detach())
    torch.testing.assert_close(seen[0], logs["supcon"] + 0.01 * logs["ce"] + 7 * flac)
    assert method.advice({name: float(value) for name, value in logs.items()}) is None
    if combine != "joint":
        assert "no batch" in (method.advice({**{n: float(v) for n, v in logs.items()}, "pairs_2": 0.0}) or "")


def test_groups_of_several_attributes_are_the_combinations_of_their_guesses(fabric: Fabric) -> None:
    source = replace(toy_bias(toy_data()), others=(toy_second_bias(toy_data()),))
    for method in (FLAC(ToyNet(2), TASK, balance="batches", combine="sum"), Balanced(ToyNet(2), TASK)):
        everything = Batches(method, toy_data(), toy_config("flac"), fabric, source).everything()
        method.prepare(everything)
        guesses = zip(*(output.logits.argmax(1).tolist() for output in everything.bias_outputs), strict=True)
        groups = [*zip(everything.y.tolist(), guesses, strict=True)]
        weights = method.sample_weights()
        assert weights is not None and len(set(groups)) > 4
        torch.testing.assert_close(weights, torch.tensor([1 / groups.count(group) for group in groups]))


def test_batch_norm_that_sees_parts_is_said() -> None:
    fine = {"spread": 0.5, "pairs": 100.0, "out_of_reach": 0.0, "flac": 1.0}
    said = [FLAC(net, TASK, micro_batch=8).advice(fine) for net in (ToyNet(2), SimpleConvNet(2))]
    assert said[0] is None and said[1] is not None and "BatchNorm sees 8 images at a time" in said[1]
    assert FLAC(SimpleConvNet(2), TASK).advice(fine) is None
