"""Nearest neighbours against a slow loop."""

import numpy as np
import pytest

from fairflac.metrics.representation import nearest, nearest_of


def slowly(features: np.ndarray, count: int) -> list[list[int]]:
    unit = [row / np.sqrt(sum(value * value for value in row)) for row in features]
    return [
        sorted((j for j in range(len(unit)) if j != i), key=lambda j: float(np.sqrt(((unit[i] - unit[j]) ** 2).sum())))[
            :count
        ]
        for i in range(len(unit))
    ]


def test_as_a_slow_loop_finds_them() -> None:
    features = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    assert nearest(features, 8).tolist() == slowly(features.astype(np.float64), 8)


def test_length_does_not_count() -> None:
    features = np.array([[1.0, 0.0], [100.0, 1.0], [0.9, 0.5]])
    assert nearest(features, 1).tolist() == [[1], [0], [1]]


def test_an_image_is_not_its_own_neighbour_even_among_copies() -> None:
    found = nearest(np.ones((3, 2)), 8)
    assert found.tolist() == [[1, 2], [0, 2], [0, 1]]


def test_features_without_a_direction() -> None:
    assert nearest(np.zeros((3, 2)), 2).shape == (3, 2)


def test_nearest_among_some() -> None:
    features = np.random.default_rng(1).normal(size=(12, 4))
    some = features[[2, 5, 7, 11]]
    own = np.full(12, -1)
    own[[2, 5, 7, 11]] = range(4)
    order, far = nearest_of(features, some, 3, own)
    assert order.shape == far.shape == (12, 3) and (np.diff(far, axis=1) >= 0).all()
    assert not (order[[2, 5, 7, 11]] == np.arange(4)[:, None]).any()
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    for row in (0, 1, 3):
        apart = [float(np.linalg.norm(unit[row] - unit[other])) for other in (2, 5, 7, 11)]
        assert order[row].tolist() == np.argsort(apart)[:3].tolist()
        assert far[row].tolist() == pytest.approx(sorted(apart)[:3])
