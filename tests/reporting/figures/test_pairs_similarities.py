"""Similarities of pairs against a double loop that says what is meant."""

from dataclasses import replace

import numpy as np
import pytest

from fairflac.errors import UserError
from fairflac.metrics.predictions import Predictions
from fairflac.reporting.figures.pairs import PairSimilarities, class_first, pair_similarities
from reporting.hand_made import table


def tiny(attributes: int) -> Predictions:
    rng = np.random.default_rng(3)
    n = 14
    bias = {f"a{k}": rng.integers(0, 2, n) for k in range(attributes)}
    features = rng.normal(size=(n, 3)).astype(np.float32)
    y = rng.integers(0, 3, n)
    return Predictions(
        np.arange(n), y, y, np.ones(n), features, bias, {name: values == y for name, values in bias.items()}
    )


def slowly(table: Predictions) -> tuple[list[float], list[float]]:
    same_class, same_attribute = [], []
    for i in range(len(table)):
        for j in range(i + 1, len(table)):
            a, b = table.features[i].astype(float), table.features[j].astype(float)
            similarity = 1 / (1 + float(np.linalg.norm(a / np.linalg.norm(a) - b / np.linalg.norm(b))))
            shared = all(values[i] == values[j] for values in table.bias.values())
            if table.y[i] == table.y[j] and not shared:
                same_class.append(similarity)
            if table.y[i] != table.y[j] and shared:
                same_attribute.append(similarity)
    return same_class, same_attribute


@pytest.mark.parametrize("attributes", [1, 2])
def test_pairs_are_those_of_a_double_loop(attributes: int) -> None:
    pairs = pair_similarities(tiny(attributes))
    for fast, slow in zip(pairs, slowly(tiny(attributes)), strict=True):
        assert len(slow) > 3
        np.testing.assert_allclose(fast, slow, rtol=1e-9)


def test_the_interval_of_class_first_is_that_of_images_drawn_anew() -> None:
    """Against a bootstrap that builds every resample's pairs, without those of an image with itself."""
    whole = table(1.0, 0.4).take(np.arange(0, 320, 5))
    one, rng, shares = class_first(whole), np.random.default_rng(1), []
    for _ in range(200):
        rows = rng.integers(0, len(whole), len(whole))
        far = np.linalg.norm(_unit(whole.features[rows])[:, None] - _unit(whole.features[rows]), axis=2)
        y, hue, once = whole.y[rows], whole.bias["hue"][rows], np.triu(rows[:, None] != rows, k=1)
        same_y, same_hue = y[:, None] == y, hue[:, None] == hue
        pairs = PairSimilarities(1 / (1 + far[once & same_y & ~same_hue]), 1 / (1 + far[once & ~same_y & same_hue]))
        shares.append(pairs.class_first)
    assert one is not None and one.n == len(whole) and one.value == pair_similarities(whole).class_first
    assert (one.low, one.high) == pytest.approx(np.quantile(np.array(shares), [0.025, 0.975]), abs=0.03)


def _unit(features: np.ndarray) -> np.ndarray:
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def test_class_first_counts_ties_half() -> None:
    red, blue = np.array([0.2, 0.5, 0.9]), np.array([0.5, 0.6])
    by_hand = sum((r > b) + (r == b) / 2 for r in red for b in blue) / 6
    assert PairSimilarities(red, blue).class_first == pytest.approx(by_hand)
    assert PairSimilarities(red, np.array([])).class_first is None


def test_order_tells_a_model_of_the_class_from_one_of_the_attribute() -> None:
    leaning = pair_similarities(table(1.0, 0.0)).class_first
    fair = pair_similarities(table(1.0, 1.0)).class_first
    assert leaning is not None and fair is not None and leaning < 0.05 < 0.95 < fair


def test_large_tables_are_thinned_out_and_always_alike() -> None:
    once, again = (pair_similarities(table(1.0, 0.5), most=50) for _ in range(2))
    assert 0 < len(once.same_class) + len(once.same_attribute) < 50 * 49 / 2
    np.testing.assert_array_equal(once.same_class, again.same_class)


def test_features_at_zero_are_no_error() -> None:
    whole = tiny(1)
    pairs = pair_similarities(replace(whole, features=np.zeros_like(whole.features)))
    assert (pairs.same_class == 1).all()


def test_an_attribute_is_needed() -> None:
    with pytest.raises(UserError, match="known attribute"):
        pair_similarities(tiny(0))
