"""Nearest neighbours against a slow loop."""

import numpy as np

from fairflac.metrics.representation import nearest


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
