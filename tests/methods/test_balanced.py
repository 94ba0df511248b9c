"""Balanced training: who is drawn how often, and what is added to the logits, counted by hand."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lightning_fabric import Fabric

from fairflac.errors import UserError
from fairflac.losses.reweighting import BalancedGroups
from fairflac.methods.balanced import Balanced
from fairflac.methods.flac import FLAC
from fairflac.types import Batch, Output
from toy import TASK, ToyNet, conflicting_accuracy

GUESS, Y = [0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 0, 1, 1, 1, 1]


def training_set() -> Batch:
    logits = F.one_hot(torch.tensor(GUESS), 2).float()
    x = torch.rand(len(Y), 3, 6, 6, generator=torch.Generator().manual_seed(0))
    return Batch((x,), torch.tensor(Y), torch.arange(len(Y)), None, Output(logits, logits))


@pytest.mark.parametrize("method", [Balanced(ToyNet(2), TASK), FLAC(ToyNet(2), TASK, balance="batches")])
def test_every_group_is_drawn_equally_often(method: Balanced | FLAC) -> None:
    batch = training_set()
    method.prepare(batch)
    weights = method.sample_weights()
    assert weights is not None
    total: dict[tuple[int, int], float] = {}
    for guess, y, weight in zip(GUESS, Y, weights.tolist(), strict=True):
        total[guess, y] = total.get((guess, y), 0) + weight
    assert len(total) == 4 and set(total.values()) == {1.0}


def test_the_prior_of_the_guess_is_added_to_the_logits() -> None:
    """CE(h(x) + log P(y | guess), y), by a loop."""
    torch.manual_seed(0)
    method, batch, seen = Balanced(ToyNet(2), TASK, balance="logits"), training_set(), []
    method.prepare(batch)
    assert method.sample_weights() is None
    method.step(batch, lambda loss, *groups: seen.append(loss))
    prior = {0: [2 / 3, 1 / 3], 1: [1 / 5, 4 / 5]}
    losses = []
    for logits, guess, y in zip(method.net(batch.x).logits.tolist(), GUESS, Y, strict=True):
        moved = [logit + math.log(prior[guess][label]) for label, logit in enumerate(logits)]
        losses.append(math.log(sum(map(math.exp, moved))) - moved[y])
    assert seen[0].item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_flac_adds_it_in_training_alone() -> None:
    torch.manual_seed(0)
    plain, moved = (FLAC(ToyNet(2), TASK, alpha=0.0, balance=balance) for balance in (None, "logits"))  # type: ignore[arg-type]
    moved.load_state_dict(plain.state_dict())
    batch = training_set()
    moved.prepare(batch)
    logs = [method.step(batch, lambda loss, *groups: None)["ce"].item() for method in (plain, moved)]
    assert logs[0] != pytest.approx(logs[1], abs=1e-3)
    assert torch.equal(plain.eval().predict(batch.x), moved.eval().predict(batch.x))


def test_guesses_must_be_known_before_training() -> None:
    with pytest.raises(UserError, match="bias_features = 'cached'"):
        Balanced(ToyNet(2), TASK).prepare(Batch((), torch.tensor([0, 1]), torch.arange(2)))


def test_does_not_fall_for_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("balanced", tmp_path, fabric) > 0.9


@pytest.mark.parametrize(("rows", "share"), [(1, 0.25), (20, 3 / 160), (1000, 3 / 8000)])
def test_scarce_images_come_three_times_as_often_and_are_a_quarter_at_most(rows: int, share: float) -> None:
    """One of 8 is scarce (guess 0, class 1 has guess 1 otherwise), among more and more that are not."""
    guess = F.one_hot(torch.tensor([0, 0, 0, 0, 1, 1, 1, 1] * rows), 2).float()
    y = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1] * rows)
    y[3] = 1
    groups = BalancedGroups("pairs", 2)
    groups.start(Batch((), y, torch.arange(len(y)), None, Output(guess, guess)))
    assert groups.paired is not None and (groups.paired.group >= 0).nonzero().tolist() == [[3]]
    assert groups.paired.share == pytest.approx(share)
