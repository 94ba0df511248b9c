"""Soft attribute labels against loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairflac.losses.contrastive import bias_dissimilarity, class_dissimilarity


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
