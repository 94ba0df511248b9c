"""Witnesses of a shortcut: features and classes in; for every image a guessed attribute value and a confidence out.

No image is guessed by a model that was trained on it, or on a copy of it: two halves judge each other.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from fairflac.data.pixels.stored import Pixels
from fairflac.metrics.representation import balanced


class Testimony(NamedTuple):
    """What a witness says of N images."""

    value: np.ndarray  # (N,) int64, below K
    confidence: np.ndarray  # (N,) float64 between 1 / K and 1: the share of the value among all that it could be


Witness = Callable[[np.ndarray, np.ndarray, int], Testimony]  # (N, D) standardised features, (N,) classes, seed

ROUNDS = 8
# C of scikit-learn. So weak a fit sees the one direction that moves the class most, and an ordinary one what is there.
WEAK, ORDINARY = 1e-6, 1e-3
TAUGHT = 1e-2  # of a model that learns values of some images, which may be few


@contextmanager
def one_thread() -> Iterator[None]:
    """For steps of a millisecond: to wake a second thread for each takes three times as long as to do without.

    Limits, and which warnings are ignored, are of the process: who asks witnesses in threads enters this around all of
    them, so that whoever ends first gives nothing back that others still need.
    """
    from sklearn.exceptions import ConvergenceWarning  # takes a second to import

    # float32 cannot follow the loss to its last digits, which nobody needs.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def linear(features: np.ndarray, y: np.ndarray, seed: int = 0) -> Testimony:
    """A strongly regularised linear model of the class, amplified: an image whose guess contradicts its class is left
    out of the next round's training, so that the model goes from the class to what most of the class has in common.
    In the end an ordinary model learns the guess itself, and so how sure it is.

    Values are numbered as the classes that they go with.
    """
    rng, content, classes = np.random.default_rng(seed), contents(features), int(y.max()) + 1
    guess, trusted = y, np.ones(len(y), dtype=bool)
    for _ in range(ROUNDS):
        half = halves(content, y, rng)
        if any(len(np.unique(y[trusted & part])) < classes for part in (half, ~half)):
            break  # a class has no image left to learn from: the last round stands
        guess = judged(features, y, half, trusted, C=WEAK, class_weight="balanced").argmax(1)
        trusted = guess == y
    shares = judged(features, guess, halves(content, guess, rng), C=ORDINARY)
    return Testimony(shares.argmax(1), shares.max(1))


def judged(
    features: np.ndarray, labels: np.ndarray, half: np.ndarray, trusted: np.ndarray | None = None, **options: Any
) -> np.ndarray:
    """(N, K) probabilities of each label, by a linear model of the other half, or of its trusted images."""
    learnt = np.ones(len(labels), dtype=bool) if trusted is None else trusted
    shares = np.zeros((len(labels), int(labels.max()) + 1))
    for part in (half, ~half):
        rows = ~part & learnt
        known, found = _taught(features[rows], labels[rows], features[part], **options)
        shares[np.ix_(part, known)] = found
    return shares


@one_thread()
def _taught(
    features: np.ndarray, labels: np.ndarray, others: np.ndarray, weights: np.ndarray | None = None, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """(K,) labels that there are, a rare one may be missing, and (M, K) their probabilities for other images."""
    from sklearn.linear_model import LogisticRegression  # takes a second to import

    known = np.unique(labels)
    if len(known) == 1:
        return known, np.ones((len(others), 1))
    # Some BLAS kernels raise the flag of an invalid value for numbers beside those that were asked for.
    with np.errstate(invalid="ignore"):
        model = LogisticRegression(max_iter=1000, **options).fit(features, labels, weights)
    return known, model.predict_proba(others)


def carried_over(features: np.ndarray, value: np.ndarray, others: np.ndarray) -> Testimony:
    """(N, D) features and what a witness guessed → the same of (M, D) other images, by a linear model of the guess."""
    known, shares = _taught(features, value, others, C=ORDINARY)
    return Testimony(known[shares.argmax(1)], shares.max(1))


def _testimony(scores: np.ndarray) -> Testimony:
    """(N, K) log-odds, of which the highest is the guess."""
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return Testimony(scores.argmax(1), raised.max(1) / raised.sum(1))


MOST_CLUSTERS = 4  # tried beside as many as there are classes


@one_thread()
def clusters(features: np.ndarray, y: np.ndarray, seed: int = 0) -> Testimony:
    """k-means, which knows no class: the centres of one half sort the other. k is the one whose clusters the two halves
    agree on most (Lange et al., Neural Computation 2004); of equals the smallest."""
    content = contents(features)
    half = halves(content, y, np.random.default_rng(seed))
    most = min(len(np.unique(content[part])) for part in (half, ~half))  # of copies there is no further cluster
    if most < 2:
        return Testimony(np.zeros(len(y), dtype=np.int64), np.ones(len(y)))
    counts = sorted({min(k, most) for k in (*range(2, MOST_CLUSTERS + 1), int(y.max()) + 1)})
    tried = [_clustered(features, half, k, seed) for k in counts]
    return max(tried, key=lambda one: round(one[0], 2))[1]


def _clustered(features: np.ndarray, half: np.ndarray, k: int, seed: int) -> tuple[float, Testimony]:
    """How well the halves agree, and what they say."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    one, other = (KMeans(k, n_init=2, random_state=seed).fit(features[part]).cluster_centers_ for part in (half, ~half))
    _, order = linear_sum_assignment(((one[:, None] - other) ** 2).sum(2))  # the same number for the same cluster
    near = [_nearness(features, centres) for centres in (one, other[order])]
    agreement = adjusted_rand_score(*(scores.argmax(1) for scores in near))
    return float(agreement), _testimony(np.where(half[:, None], near[1], near[0]))


def _nearness(features: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(N, K) minus squared distances, scaled to a deviation of 1 between clusters."""
    squared = (centres**2).sum(1) - 2 * features @ centres.T  # but for a number that is the same for all centres
    spread: np.ndarray = -squared / max((squared - squared.mean(1, keepdims=True)).std(), 1e-300)
    return spread


HIDDEN, EPOCHS, RATE = 64, 10, 1e-3
BATCH, STEPS = 128, 40  # images at least, and steps of an epoch at most


@one_thread()
def twins(features: np.ndarray, y: np.ndarray, seed: int = 0) -> Testimony:
    """XRM (Pezeshki et al., ICML 2024): two networks, each trained on its half; an image takes over what the twin that
    has not seen it says, with a probability that grows with that twin's confidence. Each so learns the other's
    confident mistakes, and a guess is what the twin that has not seen the image says in the end.

    Deviations: an MLP with one hidden layer on features, where the paper trains whole networks; EPOCHS is fixed, where
    the paper searches the most flipped labels.
    """
    generator = torch.Generator().manual_seed(seed)
    half = torch.from_numpy(halves(contents(features), y, np.random.default_rng(seed)))
    x, given = torch.from_numpy(np.ascontiguousarray(features, np.float32)), torch.from_numpy(y.astype(np.int64))
    classes = int(given.max()) + 1
    drawn = torch.Generator().manual_seed(seed)
    pair = nn.ModuleList(
        nn.Sequential(_layer(x.shape[1], HIDDEN, drawn), nn.ReLU(), _layer(HIDDEN, classes, drawn)) for _ in "ab"
    )
    optimiser = torch.optim.Adam(pair.parameters(), lr=RATE, fused=True)
    batch = max(BATCH, -(-len(x) // STEPS))
    labels = given.clone()
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x), generator=generator).split(batch):
            seen, unseen = _by_twin(pair, x[rows], half[rows])
            weight = torch.bincount(labels, minlength=classes).clamp(min=1).reciprocal()
            optimiser.zero_grad()
            F.cross_entropy(seen, labels[rows], weight).backward()
            optimiser.step()
            labels[rows] = _taken_over(unseen.detach(), labels[rows], generator)
    with torch.no_grad():
        return _testimony(_by_twin(pair, x, half)[1].double().numpy())


def _layer(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """As PyTorch begins it, but with random numbers of its own: those of the process are not for threads."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs)
    bound = inputs**-0.5
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer


def _by_twin(pair: nn.ModuleList, x: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of the twin that an image belongs to, and of the other."""
    one, other = (twin(x) for twin in pair)
    return torch.where(half[:, None], one, other), torch.where(half[:, None], other, one)


def _taken_over(unseen: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
    """Eq. 4 of the paper: nothing is taken over from a twin at chance, all from a sure one."""
    confidence, said = unseen.softmax(1).max(1)
    chance = 1 / unseen.shape[1]
    flip = torch.rand(len(labels), generator=generator) < (confidence - chance) / (1 - chance)
    return torch.where(flip, said, labels)


def filled(features: np.ndarray, y: np.ndarray, value: np.ndarray, confidence: np.ndarray) -> Testimony:
    """Values of some images (-1: not known) → of all, by a linear model of those that are known.

    Groups of class and value count alike: of few labels nearly all go with the class, and it would be learnt instead.
    """
    known, value, confidence = value >= 0, value.copy(), confidence.copy()
    if not known.all():
        weights = balanced(y[known], value[known])
        found, shares = _taught(features[known], value[known], features[~known], weights, C=TAUGHT)
        value[~known], confidence[~known] = found[shares.argmax(1)], shares.max(1)
    return Testimony(value, confidence)


def told_apart(features: np.ndarray, y: np.ndarray, value: np.ndarray) -> float:
    """How well these features tell the values, groups of class and value counting alike: of two halves each is judged
    by a model of the other."""
    weights = balanced(y, value)
    half = halves(contents(features), value, np.random.default_rng(0))
    right = np.zeros(len(value), dtype=bool)
    for part in (half, ~half):
        if part.all() or not part.any():
            return 0.0
        found, shares = _taught(features[~part], value[~part], features[part], weights[~part], C=TAUGHT)
        right[part] = found[shares.argmax(1)] == value[part]
    return float(np.average(right, weights=weights))


WITNESSES: dict[str, Witness] = {"linear": linear, "clusters": clusters, "twins": twins}
# Bias models that need no attribute label (recipes/folder.toml), as witnesses: `guesses.network_witness`. early is the
# cheapest of those that find the right pairs, see docs/results/pairs.md.
NETWORKS = ("early", "gce", "small", "vanilla")


def contents(features: Pixels) -> np.ndarray:
    """(N,) numbers, equal for copies."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(blake2b(row.tobytes(), digest_size=16).digest(), len(known)) for row in features])


def halves(content: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(N,) bool: a random half of each class; copies stay together."""
    _, first = np.unique(content, return_index=True)
    label, order = y[first], rng.permutation(len(first))
    side = np.zeros(len(first), dtype=bool)
    for one in np.unique(label):
        members = order[label[order] == one]
        side[members[int(rng.integers(2)) :: 2]] = True  # of an odd number, the odd one to either
    chosen: np.ndarray = side[content]
    return chosen
