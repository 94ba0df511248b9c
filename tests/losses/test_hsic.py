"""HSIC against its definition as a mean over quadruples of different samples."""

import math
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairflac.losses.hsic import Similarity, Width, hsic


def similarities(z: Tensor, kernel: Similarity, sigma: Width) -> list[list[float]]:
    rows, n = z.tolist(), len(z)
    if kernel == "linear":
        return [[sum(a * b for a, b in zip(rows[i], rows[j], strict=True)) for j in range(n)] for i in range(n)]
    if sigma == "median":
        distances = sorted(math.dist(rows[i], rows[j]) for i in range(n) for j in range(n) if i != j)
        sigma = distances[(len(distances) - 1) // 2]
    if sigma == "mean":
        sigma = math.sqrt(sum(math.dist(a, b) ** 2 for a in rows for b in rows) / n**2)
    return [[math.exp(-(math.dist(a, b) ** 2) / (2 * sigma**2)) for b in rows] for a in rows]


def slow_hsic(x: Tensor, y: Tensor, kernel: Similarity, sigma: Width) -> float:
    """Mean of k_ij (l_ij + l_qr - 2 l_iq) over all i, j, q, r that differ, a U-statistic."""
    k, l = similarities(x, kernel, sigma), similarities(y, kernel, sigma)  # noqa: E741
    quadruples = list(permutations(range(len(x)), 4))
    return sum(k[i][j] * (l[i][j] + l[q][r] - 2 * l[i][q]) for i, j, q, r in quadruples) / len(quadruples)


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(4, 7),
    seed=st.integers(0, 1000),
    kernel=st.sampled_from(["rbf", "linear"]),
    sigma=st.sampled_from([1.0, 0.3, "median", "mean"]),
)
def test_equals_the_definition(n: int, seed: int, kernel: Similarity, sigma: Width) -> None:
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(n, d, generator=generator, dtype=torch.float64) + 3 for d in (3, 2))
    assert float(hsic(x, y, kernel=kernel, sigma=sigma)) == pytest.approx(slow_hsic(x, y, kernel, sigma), abs=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_tells_dependence_from_independence(kernel: Similarity) -> None:
    """Unbiased: independent samples give 0 on average, of either sign."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400, 8, 2, generator=generator)
    y = torch.randn(400, 8, 2, generator=generator)
    apart = torch.stack([hsic(a, b, kernel=kernel) for a, b in zip(x, y, strict=True)])
    together = torch.stack([hsic(a, a.flip(1) + 0.1 * b, kernel=kernel) for a, b in zip(x, y, strict=True)])
    assert abs(apart.mean()) < 3 * apart.std() / 20 and apart.min() < 0
    assert together.mean() > 20 * abs(apart.mean())


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples_say_nothing(n: int) -> None:
    x, y = torch.randn(n, 3, requires_grad=True), torch.randn(n, 2)
    value = hsic(x, y)
    value.backward()
    assert value == 0 and x.grad is not None and (x.grad == 0).all()


@pytest.mark.parametrize("sigma", [1.0, "median", "mean"])
def test_equal_samples_have_finite_gradients(sigma: Width) -> None:
    x = torch.cat([torch.ones(6, 3), torch.randn(1, 3)]).requires_grad_()
    value = hsic(x, torch.randn(7, 2), sigma=sigma)
    value.backward()
    assert value.isfinite() and x.grad is not None and x.grad.isfinite().all()


def test_autocast_does_not_reach_it() -> None:
    x, y = torch.randn(16, 3), torch.randn(16, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = hsic(x, y, kernel="linear")
    torch.testing.assert_close(inside, hsic(x, y, kernel="linear"), rtol=0, atol=0)
