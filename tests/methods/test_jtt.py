"""JTT: who is drawn more often, and what comes of it."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric

from fairflac.config.run_config import resolve
from fairflac.errors import UserError
from fairflac.methods.jtt import JTT
from fairflac.types import Batch, Output
from toy import TASK, ToyNet, conflicting_accuracy, prepared_training, toy_batches, toy_data


def training_set(predicted: list[int], y: list[int]) -> Batch:
    logits = F.one_hot(torch.tensor(predicted), 2).float()
    n = len(y)
    return Batch((torch.rand(n, 3, 6, 6),), torch.tensor(y), torch.arange(n), None, Output(logits, logits))


def test_the_misclassified_are_weighted_up() -> None:
    method = JTT(ToyNet(2), TASK, lambda_up=7.0)
    method.prepare(training_set(predicted=[0, 1, 0, 1], y=[0, 1, 1, 0]))
    weights = method.sample_weights()
    assert weights is not None and weights.tolist() == [1, 1, 8, 8]  # themselves, and 7 copies


def test_conflicting_samples_are_drawn_so_much_more_often(fabric: Fabric, tmp_path: Path) -> None:
    data = toy_data(800, 0.05)
    training = prepared_training(JTT(ToyNet(2), TASK, lambda_up=7.0), data, tmp_path, fabric)
    drawn = torch.cat([training._batches(epoch).flatten() for epoch in range(40)])
    times = drawn.bincount(minlength=800).double()
    conflicting = torch.from_numpy(data.y != data.bias["shade"])
    assert 30 < conflicting.sum() < 50
    assert (times[conflicting].mean() / times[~conflicting].mean()).item() == pytest.approx(8, rel=0.05)


def test_the_loss_is_cross_entropy_whoever_was_wrong(fabric: Fabric) -> None:
    method = JTT(ToyNet(2), TASK)
    batch, seen = toy_batches(method, toy_data(), fabric)(torch.arange(16), 0), []
    logs = method.step(batch, lambda loss, *groups: seen.append(loss))
    log_p = method.net(batch.x).logits.log_softmax(1)
    assert seen[0].item() == pytest.approx(-sum(log_p[i, y].item() for i, y in enumerate(batch.y.tolist())) / 16)
    wrong = [int(p) != int(y) for p, y in zip(batch.bias_logits.argmax(1), batch.y, strict=True)]
    assert 0 < sum(wrong) < 16 and logs["upweighted"].item() == pytest.approx(sum(wrong) / 16)


def test_a_stage_one_without_errors_is_said() -> None:
    with pytest.raises(UserError, match=r"stop it earlier \(set bias_model.epochs"):
        JTT(ToyNet(2), TASK).prepare(training_set(predicted=[0, 1], y=[0, 1]))


def test_errors_must_be_known_before_training() -> None:
    with pytest.raises(UserError, match="bias_features = 'cached'"):
        JTT(ToyNet(2), TASK).prepare(Batch((), torch.tensor([0, 1]), torch.arange(2)))


@pytest.mark.parametrize("dataset", ["biased-digits", "biased-mnist", "corrupted-cifar10", "celeba", "utkface"])
def test_stage_one_is_a_short_vanilla_training(dataset: str) -> None:
    config = resolve(dataset, "jtt", 3)
    stage = config.stage_one()
    assert stage is not None and (stage.method, stage.target, stage.seed) == ("vanilla", "class", 3)
    assert 1 <= stage.train.epochs <= config.train.epochs / 5


def test_does_not_fall_for_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("jtt", tmp_path, fabric) > 0.9
