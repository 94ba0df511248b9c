"""How good a bias model is, measured before anything relies on it."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import torch

from fairflac.config.run_config import RunConfig
from fairflac.data.base import BiasedDataset
from fairflac.data.batches import epoch_batches
from fairflac.losses.flac import FLACLoss, Settings, inferred_pairs
from fairflac.metrics.intervals import DRAWS, SEED, Measured, clopper_pearson_if_constant, percentiles, share_interval
from fairflac.metrics.representation import PROBED, balanced, measure_probe
from fairflac.metrics.scores import PARTS, percent


class Quality(NamedTuple):
    numbers: dict[str, float]
    pairs_per_batch: np.ndarray  # (steps,) how many pairs S has in each batch of the first epoch


def measure(
    prediction: np.ndarray | None,  # (N,) of the bias model, None when its last layer was never trained
    features: np.ndarray,  # (N, D_b)
    matched: np.ndarray,  # (N, D_m) what pairs are found by: the same, or probabilities
    data: BiasedDataset,  # the same N samples
    target: str,  # what the bias model predicts: `class`, or an attribute
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
    quality = {} if prediction is None else _agreement(prediction, target, data)
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


class PairCounts(NamedTuple):
    """(T,) counts of pairs, each in both directions, in T batches: of one half of S (paper, Eq. 1) or of all S."""

    candidates: np.ndarray  # pairs of the same class (A10) or of different classes (A01)
    inferred: np.ndarray
    true: np.ndarray
    both: np.ndarray

    def summary(self) -> dict[str, Measured]:
        """Precision, recall, and the precision of pairs drawn blindly from the candidates."""
        return {
            "precision": _share(self.both, self.inferred),
            "recall": _share(self.both, self.true),
            "chance": _share(self.true, self.candidates),
        }


def count_pairs(
    features: np.ndarray, y: np.ndarray, bias: np.ndarray | None, settings: Settings, batches: Iterable[torch.Tensor]
) -> dict[str, PairCounts]:
    """Pairs in each batch, which is (B,) rows of the table: S is a matter of a batch, as its threshold is.

    `same_target` is A10 (same class, different attribute), `different_target` A01 (different class, same attribute),
    `s` both together. Without `bias` nothing is known to be true.
    """
    counts: dict[str, list[tuple[int, ...]]] = {"same_target": [], "different_target": [], "s": []}
    for index in (batch.numpy() for batch in batches):
        inferred = inferred_pairs(torch.from_numpy(features[index]), torch.from_numpy(y[index]), settings)
        a10, a01 = (mask.numpy() for mask in inferred)
        same_class = y[index][:, None] == y[index]
        same_bias = same_class if bias is None else bias[index][:, None] == bias[index]
        other = ~np.eye(len(index), dtype=bool)
        counts["same_target"].append(_sizes(same_class & other, a10, same_class & ~same_bias))
        counts["different_target"].append(_sizes(~same_class, a01, ~same_class & same_bias))
        counts["s"].append(_sizes(other, a10 | a01, same_class ^ same_bias))
    return {name: PairCounts(*np.array(sizes, dtype=np.int64).reshape(-1, 4).T) for name, sizes in counts.items()}


def pair_quality(halves: Mapping[str, PairCounts], *, known: bool) -> dict[str, Measured]:
    """`pairs` in S per batch, their `share` of all, and with the attribute known how right S and its halves are.

    Intervals are of batches drawn anew, whose number is n.
    """
    s = halves["s"]
    found = {"pairs": _ratio(s.inferred, np.ones_like(s.inferred)), "share": _ratio(s.inferred, s.candidates)}
    if not known:
        return found
    return found | {f"{name}.{key}": value for name, half in halves.items() for key, value in half.summary().items()}


def _sizes(candidates: np.ndarray, inferred: np.ndarray, true: np.ndarray) -> tuple[int, ...]:
    """Of (N, N) masks of one batch, in the order of `PairCounts`."""
    return tuple(int(np.count_nonzero(mask)) for mask in (candidates, inferred, true, inferred & true))


def _share(part: np.ndarray, whole: np.ndarray) -> Measured:
    """All or nothing is as sure as that many batches make it, as if the pairs of one batch were one."""
    value, low, high, n = _ratio(part, whole)
    return Measured(value, *clopper_pearson_if_constant(value, (low, high), n), n)


def _ratio(part: np.ndarray, whole: np.ndarray) -> Measured:
    """Of sums over the batches; 0 of nothing is 0."""
    n = len(part)
    times = np.random.default_rng(SEED).multinomial(n, np.full(n, 1 / n), size=DRAWS)
    low, high = percentiles((times @ part) / np.maximum(times @ whole, 1))
    return Measured(float(part.sum() / max(whole.sum(), 1)), low, high, n)


def quality_line(quality: Mapping[str, float], *, matches_pairs: bool = True) -> str:
    """The numbers of `measure` in one line; those of S where it is for a method that learns from it."""
    parts = [
        f"right on {name.partition(':')[2]} for {percent(value)} of the images"
        for name, value in quality.items()
        if name.startswith("agreement:") and not name.endswith(PARTS)
    ]
    if "class_probe" in quality:
        parts.append(f"its features tell the class of {percent(quality['class_probe'])} (groups counting alike)")
    if not matches_pairs:
        return "; ".join(parts)
    if "share" in quality:
        parts.append(f"FLAC learns from {quality['pairs']:,.0f} pairs of a batch, {percent(quality['share'])} of all")
    if "s.precision" in quality:
        parts.append(
            f"{percent(quality['s.precision'])} of these are right, and {percent(quality['s.recall'])} of the right "
            "ones are among them"
        )
    return "; ".join(parts)
