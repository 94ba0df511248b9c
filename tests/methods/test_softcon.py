"""SoftCon against a loop written from the paper, its drawing, its pairs, and on the toy shortcut."""

import math
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.config.run_config import resolve
from fairflac.errors import UserError
from fairflac.losses.flac import conflicting_pairs
from fairflac.methods.softcon import SoftCon
from fairflac.types import Batch, Output
from toy import TASK, ToyNet, conflicting_accuracy, prepared_training, toy_batches, toy_bias, toy_data

INDEX = torch.tensor([70, 3, 41, 8, 9, 10, 60, 61, 62, 90, 91, 0, 5, 6, 7, 30])


def unit(rows: Tensor) -> list[list[float]]:
    return [[v / math.hypot(*row) for v in row] for row in rows.tolist()]


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def by_hand(features: Tensor, bias: Tensor, y: list[int], tau: float, positives: set[tuple[int, int]]) -> float:
    z, b, n, total = unit(features), unit(bias), len(y), 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        weights = {j: max(1 - dot(b[i], b[j]), 0) for j in others if (i, j) in positives}
        if sum(weights.values()) < 1e-9:
            continue
        log_sum = math.log(sum(math.exp(dot(z[i], z[j]) / tau) for j in others))
        total -= sum(w * (dot(z[i], z[j]) / tau - log_sum) for j, w in weights.items()) / sum(weights.values())
    return total / n


def two_different_views(method: SoftCon, fabric: Fabric) -> Batch:
    plain = toy_batches(method, toy_data(), fabric)(INDEX, 0)
    moved = plain.views[1] + 0.1 * torch.randn(plain.views[1].shape, generator=torch.Generator().manual_seed(0))
    return Batch((plain.views[0], moved), plain.y, plain.index, None, plain._bias_output)


@pytest.mark.parametrize("pairs", ["all", "conflicting"])
def test_step_equals_a_loop(pairs: str, fabric: Fabric) -> None:
    torch.manual_seed(0)
    method = SoftCon(ToyNet(2), TASK, ce_weight=0.3, tau=0.2, pairs=pairs)  # type: ignore[arg-type]
    batch, seen = two_different_views(method, fabric), []
    logs = method.step(batch, lambda loss, *groups: seen.append(loss.detach()))
    output = method.net(torch.cat(batch.views))
    y, shade = batch.y.tolist() * 2, toy_data().bias["shade"][INDEX.numpy()].tolist() * 2
    # The toy's bias model knows the shade, so S is what Eq. 1 makes of the shade itself.
    positives = {
        (i, j)
        for i in range(32)
        for j in range(32)
        if i != j and y[i] == y[j] and (pairs == "all" or shade[i] != shade[j])
    }
    # The same from the features by sample index, not by place in the batch.
    bias = toy_bias(toy_data()).table
    assert bias is not None
    expected = by_hand(output.features, bias.features[INDEX].repeat(2, 1), y, 0.2, positives)
    ce = torch.nn.functional.cross_entropy(output.logits, torch.tensor(y)).detach()
    assert float(logs["contrast"]) == pytest.approx(expected, rel=1e-4) and expected > 0
    torch.testing.assert_close(seen[0], 0.3 * ce + logs["contrast"])


def test_a_batch_without_any_pair_gives_numbers(fabric: Fabric) -> None:
    """All samples of one class and one shade: S is empty."""
    method = SoftCon(ToyNet(2), TASK, pairs="conflicting")
    plain, seen = two_different_views(method, fabric), []
    same = Output(torch.ones(16, 2), torch.ones(16, 2))
    method.step(Batch(plain.views, torch.zeros_like(plain.y), plain.index, None, same), lambda loss: seen.append(loss))
    grads = torch.autograd.grad(seen[0], list(method.net.parameters()))
    assert all(grad.isfinite().all() for grad in grads)
    assert not conflicting_pairs(same.features, torch.zeros(16, dtype=torch.long)).any()


@pytest.mark.parametrize("ratio", [1.0, 3.0, 1000.0])
def test_draws_by_marginals(ratio: float, fabric: Fabric, tmp_path: Path) -> None:
    data = toy_data(400, 0.05)
    training = prepared_training(SoftCon(ToyNet(2), TASK, ratio=ratio), data, tmp_path, fabric)
    weights = training.method.sample_weights()
    conflicting = torch.from_numpy(data.y != data.bias["shade"])
    if ratio == 1:
        assert weights is None
        return
    assert weights is not None
    assert float(weights.max() / weights.min()) <= ratio * (1 + 1e-6)
    assert weights[conflicting].min() >= weights[~conflicting].max()
    drawn = training._batches(0).flatten()
    assert conflicting[drawn].float().mean() > 2 * conflicting.float().mean()


def test_drawing_needs_the_whole_training_set(fabric: Fabric) -> None:
    live = Batch((), torch.zeros(4, dtype=torch.long), torch.arange(4))
    with pytest.raises(UserError, match="bias_features=cached"):
        SoftCon(ToyNet(2), TASK).prepare(live)
    SoftCon(ToyNet(2), TASK, ratio=1.0).prepare(live)


@pytest.mark.parametrize("pairs", ["all", "conflicting"])
def test_overcomes_the_shortcut(pairs: str, fabric: Fabric, tmp_path: Path) -> None:
    """Its bias model knows the shade."""
    assert conflicting_accuracy("softcon", tmp_path, fabric, pairs=pairs) > 0.9


def test_on_imagenet_images_are_not_drawn_by_weight() -> None:
    """The authors' script has `ratio` 0 there, which is no sampler, and augments by colour too."""
    config = resolve("imagenet9", "softcon", 0)
    assert config.method_options["ratio"] == 1 and config.train.augment == "photo"
    assert config.bias_model is not None and config.bias_model.train.augment == "crop-flip"
