"""Weights of samples: moving averages by index, relative difficulty, generalised cross-entropy."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.losses.reweighting import RelativeDifficulty, SampleTable, gce_loss


def test_first_visit_sets_and_later_ones_move() -> None:
    table = SampleTable(decay=0.7)
    table.resize(4)
    index = torch.tensor([2, 0])
    torch.testing.assert_close(table.update(index, torch.tensor([1.0, 5.0])), torch.tensor([1.0, 5.0]))
    torch.testing.assert_close(table.update(index, torch.tensor([2.0, 5.0])), torch.tensor([0.7 * 1 + 0.3 * 2, 5.0]))
    assert table.values[[1, 3]].isnan().all()


def test_largest_value_of_each_class() -> None:
    table = SampleTable(decay=0.5)
    table.resize(5)
    table.update(torch.tensor([0, 1, 3]), torch.tensor([1.0, 4.0, -2.0]))
    maxima = table.class_maxima(torch.tensor([0, 0, 1, 1, 2]), 3)
    assert maxima.tolist() == [4.0, -2.0, -torch.inf]


def test_a_saved_table_brings_its_size() -> None:
    table, copy = SampleTable(0.5), SampleTable(0.5)
    table.resize(3)
    table.update(torch.tensor([1]), torch.tensor([2.0]))
    copy.load_state_dict(table.state_dict())
    torch.testing.assert_close(copy.values, table.values, equal_nan=True)


# Losses of a model that has learnt everything are 0, or so small that their sum is.
LOSSES = st.lists(st.sampled_from([0.0, 1e-45, 1e-30]) | st.floats(0, 50), min_size=6, max_size=6)


@settings(deadline=None)
@given(LOSSES, LOSSES)
def test_weights_are_shares_whatever_the_losses(biased: list[float], debiased: list[float]) -> None:
    difficulty = RelativeDifficulty(num_classes=4, decay=0.7)  # of which one has no sample
    difficulty.prepare(torch.tensor([0, 0, 0, 1, 1, 2]))
    for part in (torch.arange(0, 3), torch.arange(3, 6), torch.arange(0, 6)):
        weights = difficulty(part, torch.tensor(biased)[part], torch.tensor(debiased)[part])
        assert ((weights >= 0) & (weights <= 1)).all()


def test_failures_of_the_biased_model_weigh_more() -> None:
    difficulty = RelativeDifficulty(num_classes=1, decay=0.7)
    difficulty.prepare(torch.zeros(3, dtype=torch.int64))
    weights = difficulty(torch.arange(3), torch.tensor([4.0, 0.1, 0.0]), torch.tensor([2.0, 2.0, 0.0]))
    torch.testing.assert_close(weights, torch.tensor([1 / 2, 0.025 / 1.025, 0.0]))


def test_equals_the_equation() -> None:
    logits, y = torch.tensor([[2.0, 0.0, -1.0], [0.0, 3.0, 1.0]]), torch.tensor([0, 2])
    for i, value in enumerate(gce_loss(logits, y, q=0.7).tolist()):
        exponentials = [math.exp(v) for v in logits[i].tolist()]
        p = exponentials[int(y[i])] / sum(exponentials)
        assert value == pytest.approx((1 - p**0.7) / 0.7, rel=1e-5)


def test_gradient_is_cross_entropys_times_the_confidence() -> None:
    logits = torch.randn(6, 4, dtype=torch.float32, requires_grad=True)
    y = torch.randint(0, 4, (6,))
    ours = torch.autograd.grad(gce_loss(logits, y).sum(), logits)[0]
    plain = torch.autograd.grad(F.cross_entropy(logits, y, reduction="sum"), logits)[0]
    confidence = logits.softmax(1).gather(1, y[:, None]).detach() ** 0.7
    torch.testing.assert_close(ours, confidence * plain)
