"""FLAC-plus's step and batches against its four settings, computed one by one."""

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric

from fairflac.config.run_config import resolve
from fairflac.losses import FLACLoss
from fairflac.losses.contrastive import supcon_loss
from fairflac.methods.flac_plus import FLACPlus
from toy import TASK, ToyNet, toy_batches, toy_data


@pytest.mark.parametrize("task", ["ce", "supcon"])
def test_alpha_is_set_by_both_gradients_at_the_features(task: str, fabric: Fabric) -> None:
    """strength 0.8: FLAC pulls four times as hard as the task."""
    method = FLACPlus(ToyNet(2), TASK, strength=0.8, task=task)  # type: ignore[arg-type]
    batch, seen = toy_batches(method, toy_data(), fabric)(torch.arange(32), 0), []
    logs = method.step(batch, lambda loss, *groups: seen.append(loss.detach()))
    output = method.net(torch.cat(batch.views))
    features, y = output.features, batch.y.repeat(len(batch.views))
    expected = F.cross_entropy(output.logits, y)
    if task == "supcon":
        expected = supcon_loss(features, y) + 0.01 * expected
    probabilities = batch.bias_logits.softmax(1).repeat(len(batch.views), 1)
    flac = FLACLoss(targets="reachable")(probabilities, features, y)
    norms = [torch.autograd.grad(term, features, retain_graph=True)[0].norm() for term in (expected, flac)]
    alpha = 4 * norms[0] / norms[1]
    torch.testing.assert_close(logs["alpha"], alpha, rtol=1e-4, atol=0)
    torch.testing.assert_close(seen[0], (expected + alpha * flac).detach(), rtol=1e-4, atol=0)


def test_every_batch_has_a_share_of_images_whose_guess_is_unusual(fabric: Fabric) -> None:
    method = FLACPlus(ToyNet(2), TASK, pair_share=0.4)
    everything = toy_batches(method, toy_data(), fabric).everything()
    method.prepare(everything)
    paired = method.paired_sampling()
    assert paired is not None and paired.share == 0.4
    guess = everything.bias_logits.argmax(1)
    usual = {y: guess[everything.y == y].mode().values.item() for y in everything.y.unique().tolist()}
    unusual = torch.tensor([g != usual[y] for g, y in zip(guess.tolist(), everything.y.tolist(), strict=True)])
    assert unusual.any() and torch.equal(paired.group >= 0, unusual)


@pytest.mark.parametrize("changes", [{}, {"bias": "age"}])
def test_its_bias_model_is_that_of_flac(changes: dict[str, str]) -> None:
    plus, flac = (resolve("utkface", method, 0, changes).stage_one() for method in ("flac-plus", "flac"))
    assert plus == flac and plus is not None and plus.target == changes.get("bias", "race")
