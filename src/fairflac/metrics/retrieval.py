"""Features as a search index: are the images nearest to an image of its class, and are they of its attribute too?"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fairflac.metrics.intervals import Measured, bootstrap_interval, share
from fairflac.metrics.representation import subsample

CUTS = (1, 5, 10)  # how many of the nearest images are looked at
MOST_QUERIES = 2000  # the index has all images all the same
CHUNK = 256  # queries at a time


class Retrieval(NamedTuple):
    """All over the queries, each of which searches all images but itself."""

    numbers: dict[str, Measured]
    skew_by_class: dict[str, np.ndarray]  # by attribute (C, len(cuts)); nan where a class has no query


def measure_retrieval(
    features: np.ndarray, y: np.ndarray, attributes: Mapping[str, np.ndarray], cuts: Sequence[int] = CUTS
) -> Retrieval:
    """(N, D) features, (N,) classes and attribute values → what a search by the cosine of features finds.

    - `recall@k`: queries with an image of their class among the first k, as metric learning has it
    - `map`: mean average precision, over the whole ranking, of images of the class of the query
    - `skew@k:NAME`: how much more often than in the whole index the first k have the query's value of the attribute;
      0 where the features do not know it. Every group of class and value counts alike, or the class would show
    """
    cuts = [k for k in cuts if k < len(y)]
    queries = subsample(len(y), MOST_QUERIES)
    hits: dict[str, list[np.ndarray]] = {"class": [], "precision": [], **{name: [] for name in attributes}}
    for rows, order in _rankings(features, queries):
        same = y[order] == y[rows][:, None]  # (Q, N - 1), the nearest first
        hits["precision"].append(average_precision(same))
        hits["class"].append(np.stack([same[:, :k].any(1) for k in cuts], 1))
        for name, values in attributes.items():
            alike = values[order] == values[rows][:, None]
            usual = alike.mean(1)
            hits[name].append(np.stack([alike[:, :k].mean(1) - usual for k in cuts], 1))
    found = {name: np.concatenate(parts) for name, parts in hits.items()}
    asked = np.isfinite(found["precision"])  # an image that is alone in its class has nothing to find
    numbers = {f"recall@{k}": share(found["class"][asked, place]) for place, k in enumerate(cuts) if asked.any()}
    numbers["map"] = _mean(found["precision"][asked])
    by_class = {}
    for name, values in attributes.items():
        groups = y[queries] * (int(values.max()) + 1) + values[queries]
        for place, k in enumerate(cuts):
            numbers[f"skew@{k}:{name}"] = _mean_of_groups(found[name][:, place], groups)
        by_class[name] = np.stack([_class_mean(found[name], y[queries] == label) for label in range(int(y.max()) + 1)])
    return Retrieval(numbers, by_class)


def _rankings(features: np.ndarray, queries: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(Q,) rows of some queries, (Q, N - 1) all other rows, the nearest first; of equals the first."""
    unit = features.astype(np.float32) / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
    for start in range(0, len(queries), CHUNK):
        rows = queries[start : start + CHUNK]
        near = unit[rows] @ unit.T
        near[np.arange(len(rows)), rows] = -np.inf  # itself comes last, and is left out
        yield rows, np.argsort(-near, axis=1, kind="stable")[:, :-1]


def average_precision(same: np.ndarray) -> np.ndarray:
    """(Q, M) bool, ranked → (Q,) the mean, over the places of right images, of the share of right ones so far; nan
    where there is none."""
    right = same.cumsum(1)
    precision = np.where(same, right / np.arange(1, same.shape[1] + 1), 0).sum(1)
    with np.errstate(invalid="ignore"):
        found: np.ndarray = precision / same.sum(1)
    return found


def _mean(values: np.ndarray) -> Measured:
    if not len(values):
        return Measured(np.nan, np.nan, np.nan, 0)
    return Measured(float(values.mean()), *bootstrap_interval(values.astype(np.float64)), len(values))


def _mean_of_groups(values: np.ndarray, groups: np.ndarray) -> Measured:
    """Each resampled by itself: the mean of their means, each of whose intervals adds its part."""
    parts = [_mean(values[groups == one]) for one in np.unique(groups)]
    value = float(np.mean([part.value for part in parts]))
    down, up = (
        float(np.sqrt(sum((part.value - end) ** 2 for part, end in zip(parts, ends, strict=True)))) / len(parts)
        for ends in ([part.low for part in parts], [part.high for part in parts])
    )
    return Measured(value, value - down, value + up, len(values))


def _class_mean(skew: np.ndarray, rows: np.ndarray) -> np.ndarray:
    mean: np.ndarray = skew[rows].mean(0) if rows.any() else np.full(skew.shape[1], np.nan)
    return mean
