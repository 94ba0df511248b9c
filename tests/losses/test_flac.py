"""FLAC's loss against a slow double loop written from the equations, then its properties."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairflac.losses import DenseFLACLoss, FLACLoss, flac_loss
from fairflac.losses.flac import Combine

KERNELS = ("student-t", "cosine", "rbf")
DIVERGENCES = ("jeffreys", "kl", "mse")
PAIRS = ("conflicting", "all", "same-target", "different-target")
THRESHOLDS = ("midrange", "midrange-off-diagonal")


def kernel(a: list[float], b: list[float], name: str, exponent: float) -> float:
    """Eq. 5 and the kernels of the ablation, one pair at a time."""
    squared = sum((p - q) ** 2 for p, q in zip(a, b, strict=True))
    if name == "rbf":
        return math.exp(-squared / 2)
    if name == "cosine":
        norms = math.sqrt(sum(p * p for p in a)) * math.sqrt(sum(q * q for q in b))
        return (1 + sum(p * q for p, q in zip(a, b, strict=True)) / norms) / 2
    return 1 / (1 + math.sqrt(squared + 1e-6) ** exponent)


def slow_flac(b: Tensor, h: Tensor, y: Tensor, *, kind: str, exponent: float, divergence: str, pairs: str,
              threshold: str, reduction: str, normalize: bool, least: float | None = None,
              balanced_rows: bool = False) -> float:  # fmt: skip
    """Eq. 1-6, sample by sample; with `least`, that is the target of pairs with one attribute, and 1 of the others."""
    if normalize:
        b, h = b / b.norm(dim=1, keepdim=True), h / h.norm(dim=1, keepdim=True)
    bs, hs, n = b.tolist(), h.tolist(), len(y)
    kb = [[kernel(bs[i], bs[j], kind, exponent) for j in range(n)] for i in range(n)]
    kh = [[kernel(hs[i], hs[j], kind, exponent) for j in range(n)] for i in range(n)]
    considered = [kb[i][j] for i in range(n) for j in range(n) if i != j or threshold == "midrange"]
    limit = (max(considered) + min(considered)) / 2

    def in_s(i: int, j: int) -> bool:
        if i == j:
            return False
        same_y = int(y[i]) == int(y[j])
        differs = kb[i][j] < limit if threshold == "midrange" else kb[i][j] <= limit
        a10, a01 = same_y and differs, not same_y and kb[i][j] > limit
        return {"conflicting": a10 or a01, "all": True, "same-target": a10, "different-target": a01}[pairs]

    def wanted(i: int, j: int) -> float:
        return 1 - kb[i][j] if least is None else least if kb[i][j] > limit else 1.0

    terms = []
    for j in range(n):
        partners = [i for i in range(n) if in_s(i, j)]
        same = sum(int(y[i]) == int(y[j]) for i in partners)
        ratio = same / (len(partners) - same) if balanced_rows and 0 < same < len(partners) else 1.0
        weight = {i: 1.0 if int(y[i]) == int(y[j]) else ratio for i in partners}
        sum_b = sum(weight[i] * wanted(i, j) for i in partners) + 1e-7
        sum_h = sum(weight[i] * kh[i][j] for i in partners) + 1e-7
        for i in partners:
            p, q = weight[i] * wanted(i, j) / sum_b, weight[i] * kh[i][j] / sum_h
            if divergence == "mse":
                terms.append((p - q) ** 2)
            elif divergence == "kl":
                terms.append(p * (math.log(p) - math.log(q)))
            else:
                terms.append((p - q) * (math.log(p) - math.log(q)))
    return sum(terms) / (max(1, len(terms)) if reduction == "mean" else 1)


def biased_batch(n: int = 16, seed: int = 0, classes: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    """Bias features that cluster by attribute, which mostly follows the class."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    attribute = torch.where(torch.rand(n, generator=g) < 0.5, y, torch.randint(0, classes, (n,), generator=g))
    b = torch.eye(classes, 5, dtype=torch.float64)[attribute] + 0.1 * torch.rand(n, 5, generator=g, dtype=torch.float64)
    h = torch.rand(n, 4, generator=g, dtype=torch.float64) + 0.05
    return b, h, y


@pytest.mark.parametrize(
    ("kind", "divergence", "pairs", "threshold"), [*itertools.product(KERNELS, DIVERGENCES, PAIRS, THRESHOLDS)]
)
def test_equals_the_equations(kind: str, divergence: str, pairs: str, threshold: str) -> None:
    for seed, (reduction, normalize, exponent) in enumerate([("mean", True, 0.5), ("sum", False, 1.0)]):
        b, h, y = biased_batch(seed=seed)
        ours = flac_loss(
            b, h, y, kernel=kind, exponent=exponent, divergence=divergence, pairs=pairs, threshold=threshold,
            reduction=reduction, normalize=normalize,
        )  # fmt: skip
        slow = slow_flac(
            b, h, y, kind=kind, exponent=exponent, divergence=divergence, pairs=pairs, threshold=threshold,
            reduction=reduction, normalize=normalize,
        )  # fmt: skip
        assert float(ours) == pytest.approx(slow, rel=1e-9, abs=1e-12)
        assert slow != 0


@pytest.mark.parametrize(("kind", "divergence", "pairs"), [*itertools.product(KERNELS, DIVERGENCES, PAIRS)])
def test_balanced_rows_equal_the_equations(kind: str, divergence: str, pairs: str) -> None:
    b, h, y = biased_batch(seed=3)
    options = {"divergence": divergence, "pairs": pairs, "threshold": "midrange", "exponent": 0.5}
    ours = flac_loss(b, h, y, kernel=kind, balanced_rows=True, **options)
    slow = slow_flac(b, h, y, kind=kind, reduction="mean", normalize=True, balanced_rows=True, **options)
    assert float(ours) == pytest.approx(slow, rel=1e-9, abs=1e-12)
    plain = float(flac_loss(b, h, y, kernel=kind, **options))
    assert (plain == pytest.approx(slow, rel=1e-6)) == (pairs in ("same-target", "different-target"))


def test_even_rows_need_no_balance() -> None:
    """Two classes, two attributes, as many of each: every row has as many pairs of either kind."""
    y, attribute = torch.arange(16) % 2, torch.arange(16) // 2 % 2
    b, h = torch.eye(2, dtype=torch.float64)[attribute], torch.rand(16, 4, dtype=torch.float64)
    assert float(flac_loss(b, h, y, balanced_rows=True)) == pytest.approx(float(flac_loss(b, h, y)), rel=1e-12)


def test_the_papers_text() -> None:
    b, h, y = biased_batch(seed=3)
    slow = slow_flac(
        b, h, y, kind="student-t", exponent=1, divergence="jeffreys", pairs="conflicting",
        threshold="midrange-off-diagonal", reduction="sum", normalize=False,
    )  # fmt: skip
    assert float(FLACLoss.paper()(b, h, y)) == pytest.approx(slow, rel=1e-9)


# K of two orthogonal unit rows, by hand: their distance is the root of 2.
ORTHOGONAL = {("student-t", 0.5): 0.45679, ("student-t", 1.0): 0.41421, ("cosine", 1.0): 0.5, ("rbf", 1.0): 0.36788}


@pytest.mark.parametrize("pairs", ["conflicting", "all"])
@pytest.mark.parametrize(("kind", "exponent"), ORTHOGONAL)
def test_reachable_targets_equal_the_equations_with_an_ideal_bias_model(kind: str, exponent: float, pairs: str) -> None:
    b, h, y = biased_batch(seed=5)
    shared = {"divergence": "jeffreys", "pairs": pairs, "threshold": "midrange", "reduction": "mean"}
    ours = flac_loss(b, h, y, kernel=kind, exponent=exponent, targets="reachable", **shared)  # type: ignore[arg-type]
    slow = slow_flac(b, h, y, kind=kind, exponent=exponent, normalize=True, least=ORTHOGONAL[kind, exponent], **shared)
    assert float(ours) == pytest.approx(slow, rel=1e-3) and slow != 0  # K_0 has five digits here


def test_reachable_targets_ask_which_pairs_share_the_attribute_and_not_how_far_they_are() -> None:
    b, h, y = biased_batch(seed=6)
    loss = FLACLoss(targets="reachable")
    value, pairs = loss(b, h, y), loss.stats["pairs"]
    closer = b + 0.02 * torch.rand(b.shape, generator=torch.Generator().manual_seed(1), dtype=b.dtype)
    assert float(loss(closer, h, y)) == pytest.approx(float(value), rel=1e-12) and loss.stats["pairs"] == pairs
    assert float(FLACLoss()(closer, h, y)) != pytest.approx(float(FLACLoss()(b, h, y)), rel=1e-6)


def test_features_of_any_length_reach_every_target() -> None:
    b, h, y = biased_batch(seed=6)
    loss = FLACLoss(normalize=False)
    loss(b, h, y)
    assert loss.stats["out_of_reach"] == 0
    with pytest.raises(ValueError, match="needs normalize"):
        FLACLoss(normalize=False, targets="reachable")


def test_a_sure_bias_model_asks_for_what_cannot_be_reached() -> None:
    """Four samples of each class and attribute; what the loss ends at when features are free but for their sign."""
    y, attribute = torch.tensor([0, 0, 1, 1]).repeat(4), torch.tensor([0, 1, 0, 1]).repeat(4)
    ends, shares = {}, {}
    for targets in ("dissimilarity", "reachable"):
        loss = FLACLoss(targets=targets)  # type: ignore[arg-type]
        h = torch.rand(16, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
        optimiser = torch.optim.Adam([h], lr=0.02)
        for _ in range(400):
            optimiser.zero_grad()
            value = loss(torch.eye(2)[attribute], h.relu(), y)
            value.backward()
            optimiser.step()
        ends[targets], shares[targets] = float(value.detach()), float(loss.stats["out_of_reach"])
    assert shares == {"dissimilarity": 0.5, "reachable": 0}  # all of A01: their targets are too small
    assert ends["reachable"] < 1e-3 < 0.05 < ends["dissimilarity"]


def test_share_out_of_reach_by_hand() -> None:
    """A row of two pairs with targets a : b can be had from similarities between K_0 and 1 if a / b is K_0 or more."""
    y = torch.tensor([0, 0, 1])  # 0 and 1 differ in their attribute (A10), 0 and 2 share it (A01)
    for angle, expected in ((0.0, 2 / 4), (0.135, 0.0)):
        b = torch.tensor([[1.0, 0.0], [0.0, 1.0], [math.cos(angle), -math.sin(angle)]])
        loss = FLACLoss()
        loss(b, torch.rand(3, 4), y)
        assert loss.stats["pairs"] == 4 and float(loss.stats["out_of_reach"]) == pytest.approx(expected)


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_gradient(kind: str, divergence: str) -> None:
    b, h, y = biased_batch(8)
    loss = FLACLoss(kernel=kind, divergence=divergence)  # type: ignore[arg-type]
    h.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: loss(b, x, y), (h,))


def test_bias_features_get_no_gradient() -> None:
    b, h, y = biased_batch()
    b.requires_grad_()
    h.requires_grad_()
    FLACLoss()(b, h, y).backward()
    assert b.grad is None and h.grad is not None and h.grad.abs().sum() > 0


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 16), st.integers(0, 10_000))
def test_does_not_depend_on_the_order(n: int, seed: int) -> None:
    b, h, y = biased_batch(n, seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(FLACLoss()(b, h, y), FLACLoss()(b[order], h[order], y[order]))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 16), st.integers(0, 10_000))
def test_mean_is_sum_over_pairs_and_neither_is_negative(n: int, seed: int) -> None:
    b, h, y = biased_batch(n, seed)
    mean = FLACLoss()
    value, total = mean(b, h, y), FLACLoss(reduction="sum")(b, h, y)
    torch.testing.assert_close(value * mean.stats["pairs"].clamp_min(1), total)
    assert total >= -1e-12
    assert torch.allclose(FLACLoss(reduction="batch")(b, h, y), total / len(y))


def test_singleton_rows_contribute_nothing() -> None:
    """Two samples of one class with different attributes are each other's only partner."""
    b = torch.eye(2)
    loss = FLACLoss(reduction="sum")
    assert float(loss(b, torch.rand(2, 3), torch.tensor([1, 1]))) == pytest.approx(0, abs=1e-9)
    assert loss.stats["pairs"] == 2 and loss.stats["singleton_rows"] == 1 and loss.stats["mixed_rows"] == 0


@pytest.mark.parametrize(
    ("b", "y"),
    [
        (torch.ones(4, 2), [0, 0, 1, 1]),  # a bias model that tells nothing apart
        (torch.eye(2)[[0, 0, 1, 1]], [0, 0, 1, 1]),  # class and attribute agree everywhere
        (torch.ones(1, 2), [0]),  # a single sample
    ],
)
def test_empty_pairs_are_a_differentiable_zero(b: Tensor, y: list[int]) -> None:
    h = torch.rand(len(y), 3, requires_grad=True)
    loss = FLACLoss()
    value = loss(b, h, torch.tensor(y))
    value.backward()
    assert value == 0 and loss.stats["pairs"] == 0
    assert h.grad is not None and torch.equal(h.grad, torch.zeros_like(h))


def test_duplicates_keep_gradients_finite() -> None:
    b = torch.eye(2)[[0, 0, 1, 1]]
    h = torch.ones(4, 3, requires_grad=True)
    FLACLoss()(b, h, torch.tensor([0, 1, 0, 1])).backward()
    assert h.grad is not None and h.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_fp32(dtype: torch.dtype) -> None:
    b, h, y = biased_batch(32)
    b, h = b.to(dtype), h.to(dtype)
    with torch.autocast("cpu", torch.bfloat16):
        half = FLACLoss()(b, h, y)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, FLACLoss()(b.float(), h.float(), y))


@pytest.mark.parametrize(
    "wrong", [{"kernel": "gauss"}, {"pairs": "some"}, {"reduction": "none"}, {"targets": "x"}, {"exponent": 0}]
)
def test_wrong_arguments_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FLACLoss(**wrong)  # type: ignore[arg-type]


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ValueError, match="bias_features"):
        FLACLoss()(torch.rand(3, 2), torch.rand(4, 2), torch.zeros(4))
    with pytest.raises(ValueError, match="features"):
        FLACLoss()(torch.rand(4, 2), torch.rand(4), torch.zeros(4))


def test_ideal_bias_features_give_the_expected_number_of_pairs() -> None:
    """A simulation of coloured digits, batch 128, q = 0.99: about 65 pairs on average (spec, 1.4)."""
    g = torch.Generator().manual_seed(0)
    counts = []
    for _ in range(300):
        y = torch.randint(0, 10, (128,), generator=g)
        other = (y + torch.randint(1, 10, (128,), generator=g)) % 10
        colour = torch.where(torch.rand(128, generator=g) < 0.99, y, other)
        loss = FLACLoss()
        loss(torch.eye(10)[colour], torch.rand(128, 4, generator=g), y)
        counts.append(float(loss.stats["pairs"]))
    assert 55 < sum(counts) / len(counts) < 75


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("combine", ["sum", "max", "joint"])
def test_several_attributes_equal_the_equations(combine: Combine, normalize: bool) -> None:
    (first, h, y), (second, *_), (third, *_) = (biased_batch(seed=seed) for seed in (1, 2, 5))
    several = (3 * first, second[:, :4], third)
    options = {"pairs": "conflicting", "threshold": "midrange", "exponent": 0.5, "divergence": "jeffreys",
               "normalize": normalize}  # fmt: skip

    def slow(b: Tensor) -> float:
        return slow_flac(b, h, y, kind="student-t", reduction="mean", **options)

    if combine == "joint":
        units = [[v / (math.hypot(*row) if normalize else 1) for v in row] for b in several for row in b.tolist()]
        rows = [units[i] + units[len(y) + i] + units[2 * len(y) + i] for i in range(len(y))]
        expected = slow(torch.tensor(rows, dtype=torch.float64))
    else:
        expected = {"sum": sum, "max": max}[combine]([slow(b) for b in several])
    for loss in (FLACLoss(combine=combine, **options), DenseFLACLoss(combine=combine, **options)):
        assert float(loss(several, h, y)) == pytest.approx(expected, rel=1e-9)
        assert ("pairs_3" in loss.stats) == (combine != "joint")
    assert torch.equal(flac_loss((first,), h, y, combine=combine), flac_loss(first, h, y))


@pytest.mark.parametrize("combine", ["sum", "max", "joint"])
def test_gradient_against_several_attributes_is_that_of_the_textbook(combine: Combine) -> None:
    (first, h, y), (second, *_) = (biased_batch(seed=seed) for seed in (1, 2))
    gradients = []
    for loss in (FLACLoss(combine=combine), DenseFLACLoss(combine=combine)):
        features = h.clone().requires_grad_()
        loss((first, second), features, y).backward()
        assert features.grad is not None
        gradients.append(features.grad)
    torch.testing.assert_close(*gradients)


def test_a_pair_shares_a_combination_if_it_shares_all_of_it() -> None:
    """By hand: of eight samples, two classes and two attributes, S of both together."""
    y, a, b = (torch.tensor(x) for x in ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 0], [0, 0, 1, 0, 1, 1, 0, 0]))
    loss = FLACLoss(combine="joint")
    loss((torch.eye(2)[a], torch.eye(2)[b]), torch.rand(8, 3), y)
    pairs = {(i, j) for i in range(8) for j in range(8) if i != j and (y[i] == y[j]) != ((a[i], b[i]) == (a[j], b[j]))}
    assert loss.stats["pairs"] == len(pairs) == 26


def test_several_attributes_are_checked() -> None:
    b, h, y = biased_batch()
    with pytest.raises(ValueError, match="combine must be one of sum, max, joint, not 'mean'"):
        FLACLoss(combine="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one bias model"):
        flac_loss((), h, y)
    with pytest.raises(ValueError, match=r"bias_features must be \(N, D\) with N = len\(y\) = 16, not \(3, 5\)"):
        flac_loss((b, b[:3]), h, y)
