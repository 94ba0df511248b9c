"""Precision and recall of S, on bias features whose right answers are known."""

import numpy as np
import pytest
import torch

from fairflac.data.batches import epoch_batches
from fairflac.discovery.quality import count_pairs, pair_quality
from fairflac.losses import FLACLoss
from fairflac.metrics.intervals import Measured

SETTINGS = FLACLoss().settings


def measured(features: np.ndarray, y: np.ndarray, bias: np.ndarray | None, batch_size: int) -> dict[str, Measured]:
    batches = epoch_batches(len(y), batch_size, seed=0, epoch=0)
    return pair_quality(count_pairs(features, y, bias, SETTINGS, batches), known=bias is not None)


def values(features: np.ndarray, y: np.ndarray, bias: np.ndarray | None, batch_size: int) -> dict[str, float]:
    return {name: one.value for name, one in measured(features, y, bias, batch_size).items()}


def samples(n: int = 1280, q: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    return y, np.where(rng.random(n) < q, y, (y + rng.integers(1, 5, n)) % 5)


def test_a_perfect_bias_model() -> None:
    y, bias = samples()
    quality = values(np.eye(5, dtype=np.float32)[bias], y, bias, 128)
    for half in ("s", "same_target", "different_target"):
        assert quality[f"{half}.precision"] == quality[f"{half}.recall"] == 1
        assert 0 < quality[f"{half}.chance"] < 0.5
    assert quality["pairs"] == pytest.approx(quality["share"] * 128 * 127)


def test_a_bias_model_that_sees_the_class() -> None:
    """No pair of one class is ever far apart, and none of two classes near."""
    y, bias = samples()
    quality = values(np.eye(5, dtype=np.float32)[y], y, bias, 128)
    assert quality["pairs"] == quality["s.recall"] == quality["s.precision"] == 0


def test_noise_is_as_right_as_chance() -> None:
    y, bias = samples()
    noise = np.random.default_rng(1).standard_normal((len(y), 8)).astype(np.float32)
    quality = values(noise, y, bias, 128)
    assert quality["same_target.precision"] == pytest.approx(quality["same_target.chance"], abs=0.03)


def test_by_hand() -> None:
    """Two classes, two attribute values; the bias model takes sample 3 for the other value."""
    y, bias = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    features = np.eye(2, dtype=np.float32)[[0, 1, 0, 0]]
    quality = values(features, y, bias, 4)
    # inferred: 0-1 differ within a class; 0-2 and 0-3 agree across classes. true: 0-1, 2-3; 0-2, 1-3
    assert quality["pairs"] == 6 and quality["share"] == 0.5
    assert quality["same_target.precision"] == 1 and quality["same_target.recall"] == 0.5
    assert quality["different_target.precision"] == 0.5 and quality["different_target.recall"] == 0.5
    assert quality["s.precision"] == pytest.approx(2 / 3) and quality["s.recall"] == 0.5


def test_without_the_attribute_only_sizes() -> None:
    y, bias = samples(200)
    assert set(values(np.eye(5, dtype=np.float32)[bias], y, None, 64)) == {"pairs", "share"}


def test_every_batch_is_counted_as_the_loss_counts_it() -> None:
    y, _ = samples(300)
    features = np.random.default_rng(2).standard_normal((300, 6)).astype(np.float32)
    batches = epoch_batches(300, 64, seed=5, epoch=0)
    loss, logged = FLACLoss(), []
    for index in batches:
        part = torch.from_numpy(features)[index]
        loss(part, part, torch.from_numpy(y)[index])
        logged.append(int(loss.stats["pairs"]))
    assert count_pairs(features, y, None, SETTINGS, batches)["s"].inferred.tolist() == logged and min(logged) > 0


def test_intervals_are_of_batches_drawn_anew() -> None:
    """Against the textbook: two standard errors of the mean."""
    y, bias = samples(6400)
    rows = count_pairs(np.eye(5, dtype=np.float32)[bias], y, bias, SETTINGS, epoch_batches(6400, 64, seed=0, epoch=0))
    one, pairs = pair_quality(rows, known=True)["pairs"], rows["s"].inferred
    error = pairs.std() / 10
    assert one.n == len(pairs) == 100 and one.value == pytest.approx(pairs.mean())
    assert (one.low, one.high) == pytest.approx((one.value - 1.96 * error, one.value + 1.96 * error), abs=0.3 * error)
