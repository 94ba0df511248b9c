"""Retrieval against scikit-learn, by hand, and on features that know one thing or the other."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from fairflac.metrics import retrieval
from fairflac.metrics.retrieval import average_precision, measure_retrieval


def test_average_precision_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    same = rng.random((20, 30)) < 0.3
    ranks = -np.arange(30.0)
    expected = [average_precision_score(row, ranks) for row in same]
    assert average_precision(same) == pytest.approx(expected)
    assert np.isnan(average_precision(np.zeros((1, 4), dtype=bool)))[0]


def test_by_hand() -> None:
    """Five images on a half circle; the nearest of each is read off the angles."""
    angles, y, value = np.array([0, 10, 25, 60, 180.0]), np.array([0, 0, 1, 1, 0]), np.array([0, 1, 1, 0, 0])
    features = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))], 1)
    found = measure_retrieval(features, y, {"tint": value}, cuts=(1, 2))
    nearest = [1, 0, 1, 2, 3]
    assert found.numbers["recall@1"].value == np.mean([y[i] == y[j] for i, j in enumerate(nearest)])
    of_query = [np.mean([v == value[i] for v in value[[nearest[i]]]]) for i in range(5)]
    usual = [np.mean(np.delete(value, i) == value[i]) for i in range(5)]
    skew = np.array(of_query) - usual
    groups = [[0, 4], [1], [3], [2]]
    assert found.numbers["skew@1:tint"].value == pytest.approx(np.mean([skew[rows].mean() for rows in groups]))
    assert found.skew_by_class["tint"][1, 0] == pytest.approx(skew[2:4].mean())
    ranks = [np.argsort(-np.delete(features @ features[i], i), kind="stable") for i in range(5)]
    precision = [
        average_precision_score((np.delete(y, i) == y[i])[order], -np.arange(4.0)) for i, order in enumerate(ranks)
    ]
    assert found.numbers["map"].value == pytest.approx(np.mean(precision))


@pytest.mark.parametrize("knows", ["class", "attribute"])
def test_what_features_know_shows(knows: str) -> None:
    rng = np.random.default_rng(0)
    y, value = rng.integers(0, 2, (2, 400))
    features = np.eye(2)[y if knows == "class" else value] + 0.1 * rng.standard_normal((400, 2))
    found = measure_retrieval(features, y, {"tint": value}).numbers
    strong, weak = (found["map"].value - 0.5, found["skew@5:tint"].value)[:: 1 if knows == "class" else -1]
    assert strong > 0.4 and abs(weak) < 0.1
    assert found["recall@1"].low <= found["recall@1"].value <= found["recall@1"].high
    assert found["skew@5:tint"].low <= found["skew@5:tint"].value <= found["skew@5:tint"].high


def test_chunks_and_lonely_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An image that is alone in its class asks for nothing; parts of the queries give the same as all at once."""
    rng = np.random.default_rng(1)
    features, y = rng.standard_normal((41, 3)), np.array([*([0, 1] * 20), 2])
    whole = measure_retrieval(features, y, {})
    monkeypatch.setattr(retrieval, "CHUNK", 7)
    parts = measure_retrieval(features, y, {})
    assert parts.numbers == whole.numbers and whole.numbers["map"].n == 40
