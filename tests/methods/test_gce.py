"""The committee's votes, and that its members are five different models."""

from pathlib import Path

import torch
from lightning_fabric import Fabric

from fairflac.losses.reweighting import gce_loss
from fairflac.methods.gce import GCECommittee
from fairflac.nets.small import SimpleConvNet
from toy import TASK, ToyNet, prepared_training, toy_batches, toy_data


def test_share_of_members_that_are_sure() -> None:
    torch.manual_seed(0)
    method = GCECommittee(ToyNet(2), TASK, sure=0.6)
    x = 5 * torch.randn(40, 3, 6, 6)
    votes = method.predict(x)
    probabilities = [member(x).logits.softmax(1).tolist() for member in method.net.members]
    for row in range(40):
        for k in range(2):
            sure = [p[row][k] > 0.6 for p in probabilities]
            assert round(votes[row, k].item() * 5) == sum(sure)
    assert len(votes.unique()) > 3  # members differ
    torch.testing.assert_close(method.net(x).features, method.net.members[0](x).features)


def test_members_learn_apart(fabric: Fabric) -> None:
    torch.manual_seed(0)
    method, seen = GCECommittee(ToyNet(2), TASK), []
    batch = toy_batches(method, toy_data(), fabric)(torch.arange(16), 0)
    method.step(batch, lambda loss, *groups: seen.append(loss))
    for member in method.net.members:
        parameters = list(member.parameters())
        alone = gce_loss(member(batch.x).logits, batch.y).mean()
        torch.testing.assert_close(
            torch.autograd.grad(seen[0], parameters, retain_graph=True), torch.autograd.grad(alone, parameters)
        )


def test_members_start_from_the_same_distribution() -> None:
    torch.manual_seed(0)
    first, *others = GCECommittee(SimpleConvNet(10), TASK).net.members
    for other in others:
        for mine, theirs in zip(first.parameters(), other.parameters(), strict=True):
            assert torch.equal(mine.flatten().sort().values, theirs.flatten().sort().values)
        assert not torch.equal(first.blocks[0][0].weight, other.blocks[0][0].weight)  # type: ignore[index,union-attr]


def test_votes_follow_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    """Kept (three votes of five for the own class) are aligned samples, and nearly no other."""
    torch.manual_seed(0)
    method, data = GCECommittee(ToyNet(2), TASK), toy_data(800, 0.05)
    prepared_training(method, data, tmp_path, fabric, epochs=5).fit("committee", silent=True)
    batch = toy_batches(method, data, fabric)(torch.arange(800), 0)
    with torch.no_grad():
        kept = method.eval().predict(batch.x)[torch.arange(800), batch.y] > 0.5
    aligned = torch.from_numpy(data.bias["shade"]) == batch.y
    assert kept[aligned].float().mean() > 0.8 and kept[~aligned].float().mean() < 0.1
