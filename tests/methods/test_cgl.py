"""CGL: what it is shown, which guesses it trusts, and its loss."""

from pathlib import Path

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric

from fairflac.losses.hsic import hsic
from fairflac.methods.cgl import CGL, best_threshold
from fairflac.train import Batches
from toy import build_toy_method, conflicting_accuracy, toy_batches, toy_data


def prepared(fabric: Fabric, n: int = 200, **options: object) -> tuple[CGL, Batches]:
    torch.manual_seed(0)
    method = build_toy_method("cgl", **options)
    assert isinstance(method, CGL)
    batches = toy_batches(method, toy_data(n), fabric)
    method.prepare(batches.everything())
    return method, batches


def test_only_the_declared_share_of_labels_is_shown(fabric: Fabric) -> None:
    method, batches = prepared(fabric, label_share=0.25)
    bias = batches.everything().bias
    assert int((bias >= 0).sum()) == 50
    assert int(method.teaches.sum()) == 40 and len(method.checks) == 10
    assert not method.teaches[method.checks].any()


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
    method.begin_epoch(5)
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

    method.step(batch, minimise)
    p = method.predictor(batch.x).logits.log_softmax(1)
    taught = [-p[i, batch.bias[i]] for i in range(64) if method.teaches[i]]
    torch.testing.assert_close(seen[0], torch.stack(taught).mean())
    method.begin_epoch(5)
    method.step(batch, minimise)
    output = method.net(batch.x)
    expected = F.cross_entropy(output.logits, batch.y)
    assert method.attributes is not None
    for c in range(2):
        rows = [i for i in range(64) if batch.y[i] == c]
        z = torch.stack([output.features[i] / output.features[i].norm() for i in rows])
        expected = expected + 7 * hsic(z, F.one_hot(method.attributes[rows], 2).float())
    torch.testing.assert_close(seen[1], expected)
    assert names == ["predictor", "net"]


def test_beats_vanilla(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("cgl", tmp_path, fabric, estimation_epochs=10, label_share=0.3) > 0.9
