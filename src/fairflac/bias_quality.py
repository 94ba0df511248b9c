"""How good a bias model is, measured before anything relies on it."""

import math

import numpy as np

from fairflac.config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.losses.flac import FLACLoss
from fairflac.metrics.features import PROBED
from fairflac.metrics.pairs import pair_quality
from fairflac.metrics.probes import balanced, linear_probe


def measure(
    prediction: np.ndarray | None,  # (N,) of the bias model, None when its last layer was never trained
    features: np.ndarray,  # (N, D_b)
    data: BiasedDataset,  # the same N samples
    bias_config: RunConfig,
    config: RunConfig,
) -> dict[str, float]:
    """The quality gate. Attribute labels, where they are known, serve this measurement and nothing else.

    - `agreement:NAME`: share of samples whose attribute value the bias model names
    - `attribute_probe:NAME`: how well a linear model tells the attribute from its features, all values counting alike
    - `class_probe`: the same for the class; with the attribute known every group of class and attribute counts alike,
      so that only what the features know of the class itself shows
    - `n`: how many samples that is
    - `pairs`, `share`, and with the attribute known precision and recall of S: see `pair_quality`
    """
    few = np.random.default_rng(0).permutation(len(data))[:PROBED]
    quality = {} if prediction is None else _agreement(prediction, bias_config.target, data)
    quality["n"] = len(data)
    for name, values in data.bias.items():
        probe = linear_probe(features[few], values[few], balanced(values[few]))
        quality[f"attribute_probe:{name}"] = probe
    joint = data.joint_bias()
    groups = [data.y[few]] if joint is None else [data.y[few], joint[few]]
    quality["class_probe"] = linear_probe(features[few], data.y[few], balanced(*groups))
    own = {key: value for key, value in config.method_options.items() if key in ("kernel", "exponent")}
    quality |= pair_quality(features, data.y, joint, FLACLoss(**own).settings, config.train.batch_size)
    return {name: value for name, value in quality.items() if math.isfinite(value)}


def _agreement(prediction: np.ndarray, target: str, data: BiasedDataset) -> dict[str, float]:
    """A model of the classes names the value that goes with its class; a model of one attribute is asked for that."""
    named = {
        name: np.array(data.task.attributes[name].aligned)[prediction] if target == "class" else prediction
        for name in data.bias
        if target in ("class", name)
    }
    return {f"agreement:{name}": float(np.mean(values == data.bias[name])) for name, values in named.items()}
