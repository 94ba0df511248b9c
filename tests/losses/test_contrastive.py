"""Losses on similarities against loops over pairs, one pair at a time, and SupCon against pytorch-metric-learning."""

import math
import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pytorch_metric_learning.losses import SupConLoss
from torch import Tensor

from fairflac.losses.contrastive import bias_dissimilarity, class_dissimilarity, fairkl_loss, sup_info_nce, supcon_loss


def cosines(z: Tensor) -> list[list[float]]:
    unit = [[v / math.hypot(*row) for v in row] for row in z.tolist()]
    return [[sum(a * b for a, b in zip(u, v, strict=True)) for v in unit] for u in unit]


def by_hand(z: Tensor, y: list[int], bias: list[int], kld: float) -> float:
    """The authors' code, one pair at a time.

    A kind without pairs has a mean of 0. Deviations are those of as many numbers as there are pairs of all kinds, with
    zeros for pairs of another kind.
    """
    s, kinds = cosines(z), {(same, shared): [] for same in (True, False) for shared in (True, False)}
    for i in range(len(y)):
        for j in range(len(y)):
            kinds[y[i] == y[j], bias[i] == bias[j]].append(s[i][j])
    mean = {kind: statistics.fmean(values or [0.0]) for kind, values in kinds.items()}
    spread = {kind: statistics.stdev(values + [0.0] * (len(y) ** 2 - len(values))) for kind, values in kinds.items()}
    total = mean[False, True] - mean[True, False]
    for same in (True, False):
        total += (mean[same, True] - mean[same, False]) ** 2
        total += kld * (spread[same, True] - spread[same, False]) ** 2
    return total


def same(labels: list[int]) -> Tensor:
    tensor = torch.tensor(labels)
    return tensor[:, None] == tensor


labels = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=9)


@settings(deadline=None)
@given(labels, st.integers(0, 100), st.sampled_from([0.0, 1.0, 7.0]))
def test_equals_the_authors_moments(pairs: list[tuple[int, int]], seed: int, kld: float) -> None:
    y, bias = ([pair[k] for pair in pairs] for k in (0, 1))
    z = torch.randn(len(y), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()
    loss = fairkl_loss(z, torch.tensor(y), same(bias), kld=kld)
    assert float(loss.detach()) == pytest.approx(by_hand(z, y, bias, kld), abs=2e-5)
    (slope,) = torch.autograd.grad(loss, z)
    assert slope.isfinite().all()


def test_a_kind_without_pairs_still_draws_the_other_to_zero() -> None:
    """Two aligned samples of one class, at a similarity of 1/2: with themselves they have a mean of 3/4."""
    z = torch.tensor([[1.0, 0.0], [0.5, 0.75**0.5]], dtype=torch.float64, requires_grad=True)
    loss = fairkl_loss(z, torch.zeros(2), same([0, 0]), kld=0.0)
    assert float(loss.detach()) == pytest.approx(0.75**2)
    (slope,) = torch.autograd.grad(loss, z)
    assert slope.any()


def test_soft_shares_split_a_pair_between_both_kinds() -> None:
    z = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y, s = [0, 0, 0, 1, 1, 1], cosines(z)
    share = torch.rand(6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    share = (share + share.T) / 2
    expected = 0.0
    for positive in (True, False):
        moments = []
        for kind in (share.tolist(), (1 - share).tolist()):
            pairs = [(kind[i][j], s[i][j]) for i in range(6) for j in range(6) if (y[i] == y[j]) == positive]
            shared = [w * v for w, v in pairs]
            others = [0.0] * (36 - len(pairs))
            moments.append((sum(shared) / sum(w for w, _ in pairs), statistics.stdev(shared + others)))
        (mu_a, sd_a), (mu_c, sd_c) = moments
        expected += (mu_a - mu_c) ** 2 + 2 * (sd_a - sd_c) ** 2 + (-mu_c if positive else mu_a)
    assert float(fairkl_loss(z, torch.tensor(y), share, kld=2.0)) == pytest.approx(expected)


def test_pairs_outside_the_mask_do_not_count() -> None:
    """The means of six samples, of which the last two are in no pair, are those of four."""
    z, y, bias = torch.randn(6, 3), [0, 0, 1, 1, 0, 1], [0, 1, 0, 1, 1, 1]
    known = torch.arange(6) < 4
    few = fairkl_loss(z, torch.tensor(y), same(bias), kld=0, pairs=known[:, None] & known)
    torch.testing.assert_close(few, fairkl_loss(z[:4], torch.tensor(y[:4]), same(bias[:4]), kld=0))


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_sup_info_nce_equals_a_loop(epsilon: float) -> None:
    z = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y, tau, total = [0, 0, 0, 1, 1, 1, 1, 2, 2], 0.2, 0.0
    s = [[value / tau for value in row] for row in cosines(z)]
    for i in range(9):
        positives = [j for j in range(9) if j != i and y[j] == y[i]]
        negatives = sum(math.exp(s[i][j]) for j in range(9) if y[j] != y[i])
        for p in positives:
            total -= math.log(math.exp(s[i][p]) / (math.exp(s[i][p] - epsilon) + negatives)) / len(positives) / 9
    assert float(sup_info_nce(z, torch.tensor(y), temperature=tau, epsilon=epsilon)) == pytest.approx(total)


@pytest.mark.parametrize("y", [[0, 0, 0], [0, 1, 2]])
def test_one_class_or_no_positives_give_numbers(y: list[int]) -> None:
    z = torch.randn(3, 4, requires_grad=True)
    (slope,) = torch.autograd.grad(sup_info_nce(z, torch.tensor(y)), z)
    assert slope.isfinite().all()


def test_half_precision_is_computed_in_fp32() -> None:
    z, y = torch.randn(6, 4).bfloat16(), torch.tensor([0, 0, 0, 1, 1, 1])
    with torch.autocast("cpu", torch.bfloat16):
        assert sup_info_nce(z, y).dtype == fairkl_loss(z, y, y[:, None] == y).dtype == torch.float32


def two_views(seed: int = 0, n: int = 12, classes: int = 3) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    return torch.randn(2 * n, 5, generator=g, dtype=torch.float64), y.repeat(2)


@pytest.mark.parametrize("temperature", [0.07, 0.5])
def test_equals_pytorch_metric_learning(temperature: float) -> None:
    for seed in range(3):
        z, y = two_views(seed)
        z.requires_grad_()
        ours, theirs = supcon_loss(z, y, temperature=temperature), SupConLoss(temperature=temperature)(z, y)
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(torch.autograd.grad(ours, z)[0], torch.autograd.grad(theirs, z)[0])


def test_soft_weights_equal_a_slow_loop() -> None:
    z, y = two_views(1, n=6)
    weights = torch.rand(12, 12, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    unit = [[value / math.dist(row, [0] * 5) for value in row] for row in z.tolist()]
    total = 0.0
    for i in range(12):
        s = [sum(a * b for a, b in zip(unit[i], unit[j], strict=True)) / 0.07 for j in range(12)]
        log_sum = math.log(sum(math.exp(s[j]) for j in range(12) if j != i))
        positives = [j for j in range(12) if j != i and y[i] == y[j]]
        weight = sum(float(weights[i, j]) for j in positives)
        total -= sum(float(weights[i, j]) * (s[j] - log_sum) for j in positives) / weight
    assert float(supcon_loss(z, y, weights=weights)) == pytest.approx(total / 12)


def test_anchors_without_positives_contribute_nothing() -> None:
    z = torch.randn(4, 3, requires_grad=True)
    alone = supcon_loss(z, torch.arange(4))
    assert alone == 0
    alone.backward()
    assert z.grad is not None and torch.equal(z.grad, torch.zeros(4, 3))
    no_weight = supcon_loss(z, torch.zeros(4), weights=torch.zeros(4, 4))
    assert no_weight == 0


def test_gradient_and_half_precision() -> None:
    z, y = two_views(3, n=4)
    assert torch.autograd.gradcheck(lambda x: supcon_loss(x, y, temperature=0.5), (z.requires_grad_(),))
    half = z.detach().bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        assert supcon_loss(half, y).dtype == torch.float32


def one_minus_cosine(a: list[float], b: list[float]) -> float:
    return 1 - sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def features(n: int, seed: int) -> Tensor:
    return torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(0, 100))
def test_dissimilarity_is_one_minus_the_cosine(n: int, seed: int) -> None:
    b = features(n, seed)
    apart, rows = bias_dissimilarity(b), b.tolist()
    for i in range(n):
        assert apart[i, i] == 0
        for j in range(n):
            assert float(apart[i, j]) == pytest.approx(one_minus_cosine(rows[i], rows[j]), abs=1e-5)


def test_equal_rows_are_exactly_alike_and_near_ones_not_quite() -> None:
    b = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0003]])
    apart = bias_dissimilarity(b)
    assert apart[0, 1] == 0
    # As 1 - cos in fp32 it would be rounded to some multiple of 6e-8.
    exact = one_minus_cosine(*b[1:].double().tolist())
    assert 0 < exact < 1e-8 and float(apart[1, 2]) == pytest.approx(exact, rel=0.02)


@settings(deadline=None)
@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 100))
def test_class_dissimilarity_is_the_mean_over_the_class(n: int, classes: int, seed: int) -> None:
    b, y = features(n, seed), torch.randint(0, classes, (n,), generator=torch.Generator().manual_seed(seed))
    got, rows = class_dissimilarity(b, y), b.tolist()
    for i in range(n):
        mates = [j for j in range(n) if y[j] == y[i]]
        expected = sum(one_minus_cosine(rows[i], rows[j]) for j in mates) / len(mates)
        assert float(got[i]) == pytest.approx(expected, abs=1e-5)
