"""LISA: the mixture, its labels and its partners, against a slow loop from the paper's equations."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from lightning_fabric import Fabric
from scipy.stats import beta, kstest

from fairflac.methods.lisa import LISA, mixing_numbers, next_fitting
from fairflac.types import Batch, Output
from toy import TASK, ToyNet, conflicting_accuracy

GUESS, Y = [0, 0, 0, 1, 1, 1, 0, 1], [0, 0, 1, 0, 1, 1, 0, 1]


def some_batch(guess: list[int] = GUESS, y: list[int] = Y) -> Batch:
    logits = F.one_hot(torch.tensor(guess), 2).float()
    x = torch.rand(len(y), 3, 6, 6, generator=torch.Generator().manual_seed(0))
    return Batch((x,), torch.tensor(y), torch.arange(len(y)), None, Output(logits, logits))


def loss_of(method: LISA, batch: Batch, epoch: int) -> tuple[torch.Tensor, float]:
    """Of one step, and the share of images that were mixed."""
    seen: list[torch.Tensor] = []
    method.prepare(batch)
    method.begin_epoch(epoch, [])
    logs = method.step(batch, lambda loss, *groups: seen.append(loss))
    return seen[0], float(logs["mixed"])


def slow_loss(method: LISA, batch: Batch, epoch: int, *, within_class: bool) -> float:
    """Image by image: its partner, the mixture, and cross-entropy with both labels."""
    numbers = mixing_numbers(batch.index, epoch)[:3]
    losses = []
    for i, (y, guess) in enumerate(zip(Y, GUESS, strict=True)):
        partner = i
        for step in range(1, len(Y)):
            j = (i + step) % len(Y)
            same = (Y[j] == y, GUESS[j] == guess)
            if same == ((True, False) if within_class else (False, True)):
                partner = j
                break
        share = sorted(numbers[:, i])[1]
        mixed = share * batch.x[i] + (1 - share) * batch.x[partner]
        logits = method.net(mixed[None]).logits[0].tolist()
        total = math.log(sum(map(math.exp, logits)))
        losses.append(share * (total - logits[y]) + (1 - share) * (total - logits[Y[partner]]))
    return sum(losses) / len(losses)


@pytest.mark.parametrize(("p_sel", "within_class"), [(1.0, True), (0.0, False)])
@pytest.mark.parametrize("epoch", [0, 3])
def test_equals_the_equations(p_sel: float, within_class: bool, epoch: int) -> None:
    torch.manual_seed(0)
    method, batch = LISA(ToyNet(2), TASK, p_sel=p_sel), some_batch()
    loss, mixed = loss_of(method, batch, epoch)
    assert loss.item() == pytest.approx(slow_loss(method, batch, epoch, within_class=within_class), rel=1e-5)
    assert mixed == 1.0


def test_what_has_no_partner_stays_as_it_is() -> None:
    """Every guess goes with the class: there is nobody of the same class with another value."""
    torch.manual_seed(0)
    method, batch = LISA(ToyNet(2), TASK, p_sel=1.0), some_batch(guess=Y)
    loss, mixed = loss_of(method, batch, 0)
    assert mixed == 0.0
    torch.testing.assert_close(loss, F.cross_entropy(method.net(batch.x).logits, batch.y))


def test_shares_are_of_the_distribution_of_the_paper() -> None:
    method, n = LISA(ToyNet(2), TASK), 4000
    method.index = torch.arange(n)
    method.begin_epoch(0, [])
    assert kstest(method.shares.numpy(), beta(2, 2).cdf).pvalue > 0.01


def test_p_sel_is_how_often_partners_are_of_the_same_class() -> None:
    """All are of one class, so that only partners of the same class are there to be mixed with."""
    method, batch = LISA(ToyNet(2), TASK, p_sel=0.75), some_batch([0, 1, 0, 1], [0, 0, 0, 0])
    mixed = [loss_of(method, batch, epoch)[1] for epoch in range(400)]
    assert set(mixed) == {0.0, 1.0} and 0.68 < sum(mixed) / len(mixed) < 0.82


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_partners_fit_and_are_the_next(samples: list[tuple[int, int]]) -> None:
    fits = torch.tensor([[a[0] == b[0] and a[1] != b[1] for b in samples] for a in samples])
    found = next_fitting(fits).tolist()
    for i, j in enumerate(found):
        order = [(i + step) % len(samples) for step in range(1, len(samples))]
        assert j == next((k for k in order if fits[i, k]), i)


def test_does_not_fall_for_the_shortcut(fabric: Fabric, tmp_path: Path) -> None:
    assert conflicting_accuracy("lisa", tmp_path, fabric) > 0.8
