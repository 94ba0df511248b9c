"""How good a bias model is, measured before anything relies on it."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fairflac.config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.sampling import epoch_batches
from fairflac.losses.flac import FLACLoss
from fairflac.metrics.features import PROBED, measure_probe
from fairflac.metrics.intervals import share_interval
from fairflac.metrics.measure import Measured
from fairflac.metrics.pairs import count_pairs, pair_quality
from fairflac.metrics.probes import balanced


class Quality(NamedTuple):
    numbers: dict[str, float]
    pairs_per_batch: np.ndarray  # (steps,) how many pairs S has in each batch of the first epoch


def measure(
    prediction: np.ndarray | None,  # (N,) of the bias model, None when its last layer was never trained
    features: np.ndarray,  # (N, D_b)
    matched: np.ndarray,  # (N, D_m) what pairs are found by: the same, or probabilities
    data: BiasedDataset,  # the same N samples
    bias_config: RunConfig,
    config: RunConfig,
) -> Quality:
    """The quality gate. Attribute labels, where they are known, serve this measurement and nothing else.

    - `agreement:NAME`: share of samples whose attribute value the bias model names
    - `attribute_probe:NAME`: how well a linear model tells the attribute from its features, all values counting alike
    - `class_probe`: the same for the class; with the attribute known every group of class and attribute counts alike,
      so that only what the features know of the class itself shows
    - `pairs`, `share`, and with the attribute known precision and recall of S: see `pair_quality`
    - `n`: how many samples there are

    Each has its 95 % interval and how much was looked at beside it, as `pairs.low`, `pairs.high` and `pairs.n`.
    """
    few = np.random.default_rng(0).permutation(len(data))[:PROBED]
    quality = {} if prediction is None else _agreement(prediction, bias_config.target, data)
    for name, values in data.bias.items():
        quality[f"attribute_probe:{name}"] = measure_probe(features[few], values[few], balanced(values[few]))
    joint = data.joint_bias()
    groups = [data.y[few]] if joint is None else [data.y[few], joint[few]]
    quality["class_probe"] = measure_probe(features[few], data.y[few], balanced(*groups))
    own = {key: value for key, value in config.method_options.items() if key in ("kernel", "exponent")}
    batches = epoch_batches(len(data), config.train.batch_size, seed=config.seed or 0, epoch=0)
    pairs = count_pairs(matched, data.y, joint, FLACLoss(**own).settings, batches)
    quality |= pair_quality(pairs, known=joint is not None)
    return Quality(_flat(quality) | {"n": len(data)}, pairs["s"].inferred)


def _agreement(prediction: np.ndarray, target: str, data: BiasedDataset) -> dict[str, Measured]:
    """A model of the classes names the value that goes with its class; a model of one attribute is asked for that."""
    named = {
        name: np.array(data.task.attributes[name].aligned)[prediction] if target == "class" else prediction
        for name in data.bias
        if target in ("class", name)
    }
    n = len(prediction)
    shares = {name: float(np.mean(values == data.bias[name])) for name, values in named.items()}
    return {f"agreement:{name}": Measured(share, *share_interval(share, n), n) for name, share in shares.items()}


def _flat(quality: Mapping[str, Measured]) -> dict[str, float]:
    """As a run directory keeps it."""
    numbers: dict[str, float] = {}
    for name, (value, low, high, n) in quality.items():
        if math.isfinite(value):
            numbers |= {name: value, f"{name}.low": low, f"{name}.high": high, f"{name}.n": n}
    return numbers
