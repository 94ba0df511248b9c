"""FairKL's step against its parts, which tests of the losses compare with loops, and on the toy shortcut."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Tensor

from fairflac.losses.contrastive import fairkl_loss, sup_info_nce
from fairflac.methods.fairkl import FairKL, FairKLLU
from toy import TASK, ToyNet, conflicting_accuracy, toy_batches, toy_bias, toy_data

INDEX = torch.randperm(96, generator=torch.Generator().manual_seed(0))[:32]


def losses_of(
    method: FairKL | FairKLLU, fabric: Fabric
) -> tuple[dict[tuple[str, ...], Tensor], Tensor, Tensor, Tensor]:
    """What the step minimises by the groups it names, and the batch's images, classes and shades."""
    batch, seen = toy_batches(method, toy_data(), fabric)(INDEX, 0), {}
    method.step(batch, lambda loss, *groups: seen.update({groups: loss.detach()}))
    return seen, batch.x, batch.y, torch.from_numpy(toy_data().bias["shade"])[INDEX]


@pytest.mark.parametrize("lam", [0.0, 5.0])
def test_alpha_is_applied_once(lam: float, fabric: Fabric) -> None:
    method = FairKL(ToyNet(2), TASK, task="ce", alpha=3.0, lam=lam, kld=2.0)
    seen, x, y, shade = losses_of(method, fabric)
    features = method.net(x).features
    ce = F.cross_entropy(method.net.fc(F.normalize(features)), y)
    fairkl = fairkl_loss(features, y, shade[:, None] == shade, kld=2.0)
    torch.testing.assert_close(seen[()], (3 * ce + lam * fairkl).detach())


def test_contrastive_task_trains_the_encoder_and_cross_entropy_the_classifier(fabric: Fabric) -> None:
    method = FairKL(ToyNet(2), TASK, alpha=3.0, lam=5.0, epsilon=0.4, tau=0.3)
    seen, x, y, shade = losses_of(method, fabric)
    features = method.net(x).features
    task = sup_info_nce(features, y, temperature=0.3, epsilon=0.4)
    fairkl = fairkl_loss(features, y, shade[:, None] == shade, kld=method.kld)
    torch.testing.assert_close(seen["encoder",], (3 * task + 5 * fairkl).detach())
    torch.testing.assert_close(seen["classifier",], F.cross_entropy(method.predict(x), y).detach())
    groups = {name: {id(p) for p in group} for name, group in method.parameter_groups().items()}
    assert groups["classifier"] == {id(method.net.fc.weight), id(method.net.fc.bias)}
    assert groups["encoder"].isdisjoint(groups["classifier"])


def test_classifier_sees_unit_features() -> None:
    method = FairKL(ToyNet(2), TASK)
    features = torch.randn(3, 8)
    torch.testing.assert_close(method.classify(features), method.classify(7 * features))


@pytest.mark.parametrize("pairs", ["all", "conflicting"])
def test_a_bias_model_in_place_of_labels(pairs: str, fabric: Fabric) -> None:
    method = FairKLLU(ToyNet(2), TASK, task="ce", lam=5.0, pairs=pairs)  # type: ignore[arg-type]
    seen, x, y, shade = losses_of(method, fabric)
    table = toy_bias(toy_data()).table
    assert table is not None
    b = F.normalize(table.features[INDEX])
    # The toy's bias model knows the shade, so S is what Eq. 1 makes of the shade itself.
    in_s = (y[:, None] == y) != (shade[:, None] == shade)
    fairkl = fairkl_loss(
        method.net(x).features, y, b @ b.T, kld=method.kld, pairs=in_s if pairs == "conflicting" else None
    )
    torch.testing.assert_close(seen[()], (F.cross_entropy(method.predict(x), y) + 5 * fairkl).detach())


@pytest.mark.parametrize("task", ["ce", "supcon"])
def test_overcomes_the_shortcut(task: str, fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("fairkl", tmp_path, fabric, task=task) > 0.9


def test_overcomes_the_shortcut_by_a_bias_model(fabric: Fabric, tmp_path: Path) -> None:
    """Which knows the shade."""
    assert conflicting_accuracy("fairkl-lu", tmp_path, fabric, pairs="conflicting") > 0.9
