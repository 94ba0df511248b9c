"""FLAC's fused form against its dense one, in all layouts, and what only the fused form must get right."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairflac.losses import FLACLoss
from fairflac.losses.flac import DenseFLACLoss, listed, problem
from fairflac.losses.gather import Share

KERNELS = ("student-t", "cosine", "rbf")
DIVERGENCES = ("jeffreys", "kl", "mse")
THRESHOLDS = ("midrange", "midrange-off-diagonal")
OPTIONS = st.fixed_dictionaries(
    {
        "kernel": st.sampled_from(KERNELS),
        "exponent": st.sampled_from([0.5, 1.0, 2.0]),
        "divergence": st.sampled_from(DIVERGENCES),
        "pairs": st.sampled_from(["conflicting", "all", "same-target", "different-target"]),
        "threshold": st.sampled_from(THRESHOLDS),
        "reduction": st.sampled_from(["mean", "sum", "batch"]),
        "normalize": st.booleans(),
        "targets": st.sampled_from(["dissimilarity", "reachable"]),
        "balanced_rows": st.booleans(),
    }
).filter(lambda options: options["targets"] == "dissimilarity" or options["normalize"])


@pytest.fixture(params=["listed", "tiled"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the pairs of a tile are held."""
    monkeypatch.setattr(listed, "WORTH", 1e9 if request.param == "listed" else -1)
    return str(request.param)


def batch(n: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Three classes, bias features that cluster by an attribute, trained features anywhere."""
    g = torch.Generator().manual_seed(seed)
    y, attribute = torch.randint(0, 3, (2, n), generator=g)
    b = torch.eye(4, 6, dtype=torch.float64)[attribute] + 0.1 * torch.randn(n, 6, generator=g, dtype=torch.float64)
    h = torch.randn(n, 5, generator=g, dtype=torch.float64)
    return b.to(dtype), h.to(dtype).requires_grad_(), y


def value_and_gradient(loss: FLACLoss, b: Tensor, h: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    value = loss(b, h, y)
    return value.detach(), torch.autograd.grad(value, h)[0]


def assert_close(actual: Tensor, expected: Tensor, rel: float) -> None:
    """Relative to the largest element, because small ones are differences of large ones."""
    torch.testing.assert_close(
        actual.double(), expected.double(), rtol=0, atol=rel * float(expected.abs().max()) + 1e-13
    )


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 70),
    tile=st.integers(1, 3000),
    worth=st.sampled_from([-1, 4, 1e9]),
    parts=st.sampled_from([(7, 2**20), (1000, 2**20), (7, 60), (1000, 1)]),
    options=OPTIONS,
)
def test_equals_the_dense_form(
    n: int, tile: int, worth: float, parts: tuple[int, int], options: dict[str, Any]
) -> None:
    b, h, y = batch(n, seed=n)
    ours, dense = FLACLoss(**options), DenseFLACLoss(**options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "TILE", tile)
        patch.setattr(problem, "MIN_ROWS", 1)
        patch.setattr(listed, "WORTH", worth)
        patch.setattr(listed, "CHUNK", parts[0])
        patch.setattr(listed, "AT_ONCE", parts[1])
        value, gradient = value_and_gradient(ours, b, h, y)
    expected, expected_gradient = value_and_gradient(dense, b, h, y)
    assert_close(value, expected, 1e-10)
    assert_close(gradient, expected_gradient, 1e-10)
    assert ours.stats.keys() == dense.stats.keys()
    for name, stat in ours.stats.items():
        assert float(stat) == pytest.approx(float(dense.stats[name]), rel=1e-6, abs=1e-9), name
        assert not stat.requires_grad and stat.ndim == 0


@pytest.mark.parametrize("pairs", ["conflicting", "all"])
def test_equals_the_dense_form_in_fp32(form: str, pairs: Any) -> None:
    b, h, y = batch(300, dtype=torch.float32)
    value, gradient = value_and_gradient(FLACLoss(pairs=pairs), b, h, y)
    expected, expected_gradient = value_and_gradient(DenseFLACLoss(pairs=pairs), b, h, y)
    assert value.dtype == gradient.dtype == torch.float32
    assert_close(value, expected, 1e-5)
    assert_close(gradient, expected_gradient, 1e-5)


@pytest.mark.parametrize(("kernel", "divergence"), [*itertools.product(KERNELS, DIVERGENCES)])
def test_gradcheck(form: str, kernel: Any, divergence: Any) -> None:
    b, h, y = batch(9)
    loss = FLACLoss(kernel=kernel, divergence=divergence)
    assert torch.autograd.gradcheck(lambda x: loss(b, x, y), (h,))


def test_many_tiles_do_not_depend_on_the_order(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem, "TILE", 500)
    monkeypatch.setattr(problem, "MIN_ROWS", 1)
    b, h, y = batch(83)
    order = torch.randperm(83, generator=torch.Generator().manual_seed(1))
    value, gradient = value_and_gradient(FLACLoss(), b, h, y)
    permuted, permuted_gradient = value_and_gradient(FLACLoss(), b[order], h[order], y[order])
    torch.testing.assert_close(permuted, value)
    torch.testing.assert_close(permuted_gradient, gradient[order])


@pytest.mark.parametrize("names", [[0, 256, 512], [-1, 255, 511], [0.0, 0.25, 0.5]])
def test_classes_may_have_any_names(form: str, names: list[float]) -> None:
    """Also those that a byte cannot tell apart."""
    b, h, y = batch(40)
    expected, expected_gradient = value_and_gradient(FLACLoss(), b, h, y)
    value, gradient = value_and_gradient(FLACLoss(), b, h, torch.tensor(names)[y])
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, expected_gradient)


def test_equal_bias_features_lose_no_digits_in_fp32() -> None:
    """Distances by expansion would be off by 1e-7 where they are 0, and the root makes that 1e-3 in the loss."""
    _, h, y = batch(64)
    b = torch.randn(3, 6, dtype=torch.float64)[torch.arange(64) % 3]
    exact, exact_gradient = value_and_gradient(DenseFLACLoss(), b, h, y)
    value, gradient = value_and_gradient(FLACLoss(), b.float(), h.detach().float().requires_grad_(), y)
    assert_close(value, exact, 1e-5)
    assert_close(gradient, exact_gradient, 1e-5)


@pytest.mark.parametrize(
    ("kernel", "threshold", "dtype"), [*itertools.product(KERNELS, THRESHOLDS, [torch.float32, torch.float64])]
)
def test_rounding_makes_no_pairs(form: str, kernel: Any, threshold: Any, dtype: torch.dtype) -> None:
    """All rows equal: every similarity ties, which is in neither half of S (released code) or different (paper)."""
    _, h, y = batch(40, dtype=dtype)
    b = torch.randn(33, dtype=dtype, generator=torch.Generator().manual_seed(5)).expand(40, 33)
    loss = FLACLoss(kernel=kernel, threshold=threshold)
    value, gradient = value_and_gradient(loss, b, h, y)
    same_class = int((y[:, None] == y).sum()) - 40
    assert loss.stats["pairs"] == (0 if threshold == "midrange" else same_class)
    assert gradient.isfinite().all() and value.isfinite()
    assert threshold == "midrange-off-diagonal" or (value == 0 and not gradient.any())


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_distances_are_ties(form: str, kernel: Any) -> None:
    """Corners of a simplex are equally far apart, whatever the rounding: different attributes, says the paper."""
    b, y = torch.eye(7), torch.tensor([0, 0, 0, 1, 1, 2, 2])
    loss = FLACLoss(kernel=kernel, threshold="midrange-off-diagonal")
    loss(b, torch.rand(7, 3), y)
    assert loss.stats["pairs"] == 6 + 2 + 2


@pytest.mark.parametrize("kernel", KERNELS)
def test_zero_rows(form: str, kernel: Any) -> None:
    b, h, y = batch(30)
    b[::5], h = 0, torch.where(torch.arange(30)[:, None] % 7 == 0, 0, h.detach()).requires_grad_()
    value, gradient = value_and_gradient(FLACLoss(kernel=kernel), b, h, y)
    expected, expected_gradient = value_and_gradient(DenseFLACLoss(kernel=kernel), b, h, y)
    assert_close(value, expected, 1e-10)
    rows = h.detach().any(1)
    assert_close(gradient[rows], expected_gradient[rows], 1e-10)
    assert gradient.isfinite().all() and gradient.abs().max() < 1e3  # where torch's normalize divides by 1e-12
    assert FLACLoss(kernel="cosine")(torch.zeros(6, 2), torch.rand(6, 2), torch.zeros(6)) == 0


@pytest.mark.parametrize("kernel", ["rbf", "cosine"])
def test_vanished_similarities_do_not_move(form: str, kernel: Any) -> None:
    b, h, y = batch(20, dtype=torch.float32)
    far = torch.where(torch.arange(20)[:, None] % 2 == 0, 30.0, -30.0) + 0 * h.detach()
    for dtype in (torch.float32, torch.float64):
        value, gradient = value_and_gradient(
            FLACLoss(kernel=kernel, normalize=False), b, far.to(dtype).requires_grad_(), y
        )
        assert value.isfinite() and gradient.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_and_half_precision_are_computed_in_fp32(form: str, dtype: torch.dtype) -> None:
    b, h, y = batch(40)
    b, h = b.to(dtype), h.detach().to(dtype).requires_grad_()
    expected, expected_gradient = value_and_gradient(FLACLoss(), b.float(), h.detach().float().requires_grad_(), y)
    with torch.autocast("cpu", torch.bfloat16):
        value, gradient = value_and_gradient(FLACLoss(), b, h, y)
    assert value.dtype == torch.float32 and gradient.dtype == dtype
    torch.testing.assert_close(value, expected, rtol=0, atol=0)
    torch.testing.assert_close(gradient, expected_gradient.to(dtype), rtol=0, atol=0)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("normalize", [True, False])
def test_what_is_not_finite_is_named(form: str, bad: float, normalize: bool) -> None:
    loss = FLACLoss(normalize=normalize)
    for place, name in ((0, "^bias_features"), (1, "^features")):
        inputs = [x.detach().clone() for x in batch(12, dtype=torch.float32)]
        inputs[place][7, 2] = bad
        with pytest.raises(ValueError, match=name):
            loss(*inputs)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch.compile's own
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_under_compile(backend: str) -> None:
    b, h, y = batch(24)
    net, loss = torch.nn.Linear(5, 4, dtype=torch.float64), FLACLoss()

    def step(x: Tensor) -> Tensor:
        return 2 * loss(b, torch.relu(net(x)) + 0.1, y)

    value, compiled = step(h), torch.compile(step, backend=backend)(h)
    torch.testing.assert_close(compiled, value)
    torch.testing.assert_close(*(torch.autograd.grad(x, net.weight)[0] for x in (compiled, value)))
    assert loss.stats["pairs"] > 0


def test_a_long_list_gives_way_to_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or memory would grow with the number of pairs."""
    b, h, y = batch(60)
    expected, expected_gradient = value_and_gradient(DenseFLACLoss(), b, h, y)
    monkeypatch.setattr(listed, "WORTH", 1e9)
    for most, lists in ((10**6, True), (50, False)):
        monkeypatch.setattr(listed, "MOST", most)
        pairs = problem.PairProblem(b.numpy(), h.detach().numpy(), y.numpy(), FLACLoss().settings)
        assert (listed.listed_flac(pairs) is not None) == lists
        value, gradient = value_and_gradient(FLACLoss(), b, h, y)
        assert_close(value, expected, 1e-10)
        assert_close(gradient, expected_gradient, 1e-10)


def test_a_list_is_computed_in_parts_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with all partners of its rows; a part may exceed its size by those of one row."""
    b, h, y = (x.detach().numpy() for x in batch(60))
    monkeypatch.setattr(listed, "AT_ONCE", 100)
    for share in (None, Share(slice(10, 50), 2)):
        pairs = problem.PairProblem(b, h, y, FLACLoss(pairs="all").settings, share, problem.Limits(0, 0, 0, 0))
        whole = {(i, j) for i in range(60)[pairs.share.rows] for j in range(60) if i != j}
        parts = [{*zip(*part.tolist(), strict=True)} for part, _ in listed._parts(pairs, listed._list_pairs(pairs))]
        assert set.union(*parts) == whole and sum(map(len, parts)) == len(whole)
        assert len(parts) > 10 and max(map(len, parts)) <= 100 + 59


def test_no_second_derivative() -> None:
    b, h, y = batch(10)
    with pytest.raises(RuntimeError, match="twice"):
        torch.autograd.grad(FLACLoss()(b, h, y), h, create_graph=True)


@pytest.mark.parametrize("n", [1, 128, 1024, 4096, 100_000])
def test_tiles_are_bounded_and_cover_all_rows(n: int) -> None:
    tiles = problem.row_tiles(n)
    assert [i for rows in tiles for i in range(rows.start, rows.stop)] == [*range(n)]
    assert max(rows.stop - rows.start for rows in tiles) * n <= max(problem.TILE, problem.MIN_ROWS * n)
