"""BC-BB against loops written from the paper, its prior against tables by hand, and on the toy shortcut."""

import math
from collections import Counter
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.data.batches import epoch_batches
from fairflac.losses.reweighting import bias_balanced_loss, class_given_bias
from fairflac.methods.bc_bb import BCBB
from fairflac.types import Batch, Output
from toy import TASK, ToyNet, conflicting_accuracy, prepared_training, toy_batches, toy_data

# Three samples of class 0 with bias 0 and one with bias 1; one of class 1 with bias 0 and five with bias 1.
Y = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
BIAS = torch.tensor([0, 0, 0, 1, 0, 1, 1, 1, 1, 1])


def prepared(ratio: float) -> BCBB:
    method = BCBB(ToyNet(2), TASK, ratio=ratio)
    method.prepare(Batch((), Y, torch.arange(10), BIAS))
    return method


def test_prior_by_hand() -> None:
    """Rows are attribute values: of four samples with bias 0, three are of class 0."""
    prior = class_given_bias(Y, BIAS, torch.ones(10), num_classes=2, num_bias=3)
    assert prior.tolist() == [[3 / 4, 1 / 4], [1 / 6, 5 / 6], [0, 0]]
    torch.testing.assert_close(prepared(ratio=1).prior, prior[:2])


def test_weights_by_hand() -> None:
    """P(b | y) is 3/4, 1/4 in class 0 and 1/6, 5/6 in class 1: weights 4/3, 4, 6 and 6/5, below 3 times 6/5."""
    whole, clipped = prepared(ratio=100), prepared(ratio=3)
    assert whole.sample_weights() is not None and clipped.sample_weights() is not None
    torch.testing.assert_close(whole.weights, torch.tensor([4 / 3] * 3 + [4.0, 6.0] + [6 / 5] * 5).double())
    torch.testing.assert_close(clipped.weights, torch.tensor([4 / 3] * 3 + [3.6, 3.6] + [6 / 5] * 5).double())
    # The cells weigh 4, 3.6 in class 0 and 3.6, 6 in class 1.
    torch.testing.assert_close(clipped.prior, torch.tensor([[4 / 7.6, 3.6 / 7.6], [3.6 / 9.6, 6 / 9.6]]).double())


@pytest.mark.parametrize("ratio", [1.0, 3.0, 100.0])
def test_prior_is_that_of_the_samples_drawn(ratio: float) -> None:
    method = prepared(ratio)
    drawn = torch.cat([epoch_batches(10, 10, seed=0, epoch=e, weights=method.weights).flatten() for e in range(2000)])
    cells = Counter(zip(BIAS[drawn].tolist(), Y[drawn].tolist(), strict=True))
    for b in range(2):
        share = cells[b, 1] / (cells[b, 0] + cells[b, 1])
        assert float(method.prior[b, 1]) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("ratio", [1.0, 3.0, 100.0])
def test_knowing_the_attribute_alone_is_worth_nothing(ratio: float) -> None:
    """Over the weighted draw, the gradient for each attribute value's logits is 0 where they are all the same."""
    method = prepared(ratio)
    assert method.weights is not None
    per_bias = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    losses = [
        bias_balanced_loss(per_bias[BIAS[i : i + 1]], Y[i : i + 1], BIAS[i : i + 1], method.prior) for i in range(10)
    ]
    expected = (method.weights * torch.stack(losses).double()).sum() / method.weights.sum()
    (slope,) = torch.autograd.grad(expected, per_bias)
    torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-6)


def by_hand(method: BCBB, output: Output, y: list[int], bias: list[int]) -> tuple[float, float]:
    """Balanced cross-entropy and bias-contrastive loss, sample by sample."""
    prior, logits = method.prior.tolist(), output.logits.tolist()
    z = [[v / math.hypot(*row) for v in row] for row in output.features.tolist()]
    n, ce, contrast = len(y), 0.0, 0.0
    for i in range(n):
        adjusted = [logits[i][c] + math.log(prior[bias[i]][c]) for c in range(2)]
        ce += math.log(sum(math.exp(a) for a in adjusted)) - adjusted[y[i]]
        s = [sum(a * b for a, b in zip(z[i], z[j], strict=True)) / method.tau for j in range(n)]
        log_sum = math.log(sum(math.exp(s[j]) for j in range(n) if j != i))
        positives = [j for j in range(n) if y[j] == y[i] and bias[j] != bias[i]]
        contrast += sum(log_sum - s[j] for j in positives) / max(len(positives), 1)
    return ce / n, contrast / n


def two_different_views(method: BCBB, fabric: Fabric) -> Batch:
    batches = toy_batches(method, toy_data(), fabric)
    method.prepare(batches.everything())
    plain = batches(torch.arange(32), 0)
    moved = plain.views[1] + 0.1 * torch.randn(plain.views[1].shape, generator=torch.Generator().manual_seed(0))
    return Batch((plain.views[0], moved), plain.y, plain.index, plain.bias)


def test_step_equals_a_loop(fabric: Fabric) -> None:
    torch.manual_seed(0)
    method = BCBB(ToyNet(2), TASK, ce_weight=0.3, tau=0.2, ratio=2.0)
    batch, seen = two_different_views(method, fabric), []
    logs = method.step(batch, lambda loss, *groups: seen.append(loss))
    output = method.net(torch.cat(batch.views))
    ce, contrast = by_hand(method, output, batch.y.tolist() * 2, batch.bias.tolist() * 2)
    assert float(logs["ce"]) == pytest.approx(ce, rel=1e-4)
    assert float(logs["contrast"]) == pytest.approx(contrast, rel=1e-4)
    assert float(seen[0].detach()) == pytest.approx(0.3 * ce + contrast, rel=1e-4)


def test_two_views_of_an_image_are_not_positives(fabric: Fabric) -> None:
    """With one attribute value in the batch there are no positives at all, though each image is there twice."""
    method = BCBB(ToyNet(2), TASK)
    batch = two_different_views(method, fabric)
    alike = Batch(batch.views, batch.y, batch.index, torch.zeros_like(batch.y))
    assert method.step(alike, lambda loss, *groups: None)["contrast"] == 0
    assert method.step(batch, lambda loss, *groups: None)["contrast"] > 0


def test_logits_stay_as_they_are() -> None:
    logits = torch.randn(10, 2)
    before = logits.clone()
    prior = class_given_bias(Y, BIAS, torch.ones(10), num_classes=2, num_bias=2)
    loss: Tensor = bias_balanced_loss(logits, Y, BIAS, prior)
    assert torch.equal(logits, before) and loss != torch.nn.functional.cross_entropy(logits, Y)


def test_training_draws_by_weight(fabric: Fabric, tmp_path: Path) -> None:
    data = toy_data(400, 0.05)
    training = prepared_training(BCBB(ToyNet(2), TASK, ratio=1000.0), data, tmp_path, fabric)
    drawn = training._batches(0).flatten().numpy()
    assert (data.y != data.bias["shade"]).mean() < 0.1
    assert (data.y[drawn] != data.bias["shade"][drawn]).mean() == pytest.approx(0.5, abs=0.1)


def test_overcomes_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("bc-bb", tmp_path, fabric) > 0.9
