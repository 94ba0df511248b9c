"""CGL: what it is shown, which guesses it trusts, and its loss."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.errors import UserError
from fairflac.methods.cgl import CGL, best_threshold
from fairflac.training.pipeline import Batches
from toy import build_toy_method, conflicting_accuracy, prepared_training, toy_batches, toy_data


def prepared(fabric: Fabric, n: int = 200, **options: object) -> tuple[CGL, Batches]:
    torch.manual_seed(0)
    method = build_toy_method("cgl", **options)
    assert isinstance(method, CGL)
    batches = toy_batches(method, toy_data(n), fabric)
    method.prepare(batches.everything())
    return method, batches


def test_only_the_declared_share_of_labels_is_shown(fabric: Fabric) -> None:
    _, batches = prepared(fabric, label_share=0.25)
    assert int((batches.everything().bias >= 0).sum()) == 50


def test_the_predictor_is_taught_by_the_same_share_of_every_group(fabric: Fabric, tmp_path: Path) -> None:
    torch.manual_seed(0)
    method, data = build_toy_method("cgl", label_share=0.25), toy_data(200)
    training = prepared_training(method, data, tmp_path, fabric)
    assert isinstance(method, CGL)
    shown = method.bias >= 0
    for y in range(2):
        for bias in range(2):
            group = shown & (method.y == y) & (method.bias == bias)
            assert 0 < group.sum() < 50 and int(method.teaches[group].sum()) == int(0.8 * int(group.sum()))
    assert torch.equal(method.checks, (shown & (method.teaches == 0)).nonzero()[:, 0])
    drawn = training._batches(0)
    assert len(drawn) == 200 // 32 and method.teaches[drawn].all()  # every image of a batch is labelled


def test_too_few_labels_are_said(fabric: Fabric) -> None:
    with pytest.raises(UserError, match="raise label_share"):
        prepared(fabric, n=40, label_share=0.05)


@given(st.lists(st.tuples(st.sampled_from([0.3, 0.5, 0.8, 0.9]), st.booleans()), min_size=1, max_size=12))
@settings(deadline=None)
def test_threshold_against_trying_all(rows: list[tuple[float, bool]]) -> None:
    confidence, right = torch.tensor([c for c, _ in rows]), torch.tensor([r for _, r in rows])
    limit = best_threshold(confidence, right)

    def hits(cut: float) -> int:
        return sum((c >= cut) == r for c, r in zip(confidence.tolist(), right.tolist(), strict=True))

    assert hits(float(limit)) == max(hits(cut) for cut in (0.0, 0.4, 0.6, 0.85, 0.95))


def test_sure_guesses_are_taken_and_others_drawn(fabric: Fabric) -> None:
    method, _ = prepared(fabric, n=2000, label_share=0.2)
    true = torch.from_numpy(toy_data(2000).bias["shade"])
    sure = torch.arange(2000) % 2 == 0
    method.guess.values[:] = torch.where(sure, true, 1 - true)  # right where it is sure
    method.confidence.values[:] = torch.where(sure, 0.9, 0.6)
    method.begin_epoch(5, [])
    assert method.attributes is not None
    known = method.bias >= 0
    assert torch.equal(method.attributes[known | sure], true[known | sure])
    rest = ~known & ~sure  # a quarter of the toy conflicts, and so does a quarter of what is drawn
    conflicting = (method.attributes[rest] != method.y[rest]).float().mean()
    assert 0.2 < conflicting < 0.3


def test_loss_of_the_predictor_and_of_the_classifier(fabric: Fabric) -> None:
    method, batches = prepared(fabric, label_share=0.5, lam=7.0)
    batch, seen, names = batches(torch.arange(64), 0), [], []

    def minimise(loss: torch.Tensor, *groups: str) -> None:
        seen.append(loss)
        names.extend(groups)

    taught = batches(method.teaches.nonzero()[:16, 0], 0)
    method.step(taught, minimise)
    p = method.predictor(taught.x).logits.log_softmax(1)
    torch.testing.assert_close(seen[0], -torch.stack([p[i, taught.bias[i]] for i in range(16)]).mean())
    method.begin_epoch(5, batches.unaugmented())
    method.step(batch, minimise)
    output = method.net(batch.x)
    expected = F.cross_entropy(output.logits, batch.y)
    assert method.attributes is not None
    for c in range(2):
        rows = [i for i in range(64) if batch.y[i] == c]
        z = torch.stack([output.features[i] / output.features[i].norm() for i in rows])
        expected = expected + 7 * fair_hsic(z, F.one_hot(method.attributes[rows], 2).float())
    torch.testing.assert_close(seen[1], expected)
    assert names == ["predictor", "net"]


def fair_hsic(x: Tensor, y: Tensor) -> Tensor:
    """As the authors write it: the width from the mean squared distance, and the trace of a product of matrices."""
    n, kernels = len(x), []
    for z in (x, y):
        distances = torch.stack([torch.stack([(a - b).square().sum() for b in z]) for a in z])
        kernel = (-distances / (2 * distances.mean().detach())).exp()
        kernels.append(kernel - torch.diag(kernel.diagonal()))
    k, l = kernels  # noqa: E741
    rest = k.sum() * l.sum() / (n - 1) / (n - 2) - 2 * (k.sum(0) @ l.sum(0)) / (n - 2)
    return (torch.trace(k @ l) + rest) / (n * (n - 3))


def test_all_images_are_guessed_as_they_are_by_the_predictor_in_eval_mode(fabric: Fabric) -> None:
    method, batches = prepared(fabric, label_share=0.5)
    method.train()
    method.begin_epoch(4, batches.unaugmented())
    assert method.attributes is None and method.guess.values.isnan().all()
    modes = []
    method.predictor.register_forward_hook(lambda net, *call: modes.append(net.training))
    method.begin_epoch(5, batches.unaugmented())
    assert modes == [False] and method.predictor.training
    x = batches.plain(torch.arange(200))[0]
    p, guess = method.predictor(x).logits.softmax(1).max(1)
    torch.testing.assert_close(method.confidence.values, p.detach())
    assert torch.equal(method.guess.values.long(), guess)


@pytest.mark.parametrize("balance", ["classes", "groups"])
def test_classes_are_drawn_equally_often_and_groups_only_if_asked(balance: str, fabric: Fabric) -> None:
    method, batches = prepared(fabric, n=800, label_share=0.5, balance=balance)
    method.begin_epoch(5, batches.unaugmented())
    assert method.attributes is not None
    weights = method.sample_weights()
    of_class = torch.stack([weights[method.y == y].sum() for y in range(2)])
    torch.testing.assert_close(of_class[0], of_class[1])
    conflicts = method.attributes != method.y
    share = weights[conflicts].sum() / weights.sum()
    expected = 0.5 if balance == "groups" else conflicts.float().mean()
    assert float(share) == pytest.approx(float(expected), abs=0.02)


def test_with_groups_drawn_alike_it_beats_vanilla(fabric: Fabric, tmp_path: Path) -> None:
    options = {"estimation_epochs": 10, "label_share": 0.3, "balance": "groups"}
    assert conflicting_accuracy("cgl", tmp_path, fabric, **options) > 0.5
