"""Features and classes → the shortcuts that witnesses find, one after the other, each with what speaks for it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch

from fairflac.data.pixels.stored import Pixels
from fairflac.discovery.belief import Belief, believe, ordinary_answers
from fairflac.discovery.witnesses import NETWORKS, WITNESSES, Testimony, Witness, one_thread
from fairflac.errors import unknown
from fairflac.metrics.predictions import Predictions
from fairflac.system.progress import meter

AUTO = "auto"
FEWEST = 10  # images of a class: of fewer, halves say nothing
MOST = 3  # shortcuts that are looked for
RIDGE = 1e-3  # of the mean variance: enough to be stable where features are copies of each other


@dataclass(frozen=True)
class Candidate:
    """What one witness says, and how far it is believed."""

    witness: str
    features: str  # that it saw, or that were asked whether to believe a network
    testimony: Testimony
    belief: Belief


@dataclass(frozen=True)
class SearchRound:
    """Every witness that was asked, the most believed first."""

    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        return self.candidates[0]


def check_witness(name: str) -> None:
    if name not in (AUTO, *WITNESSES, *NETWORKS):
        unknown("witness", name, {AUTO, *WITNESSES, *NETWORKS})


def search(
    features: Mapping[str, np.ndarray],
    y: np.ndarray,
    witness: str = AUTO,
    *,
    images: Pixels | None = None,
    seed: int = 0,
    silent: bool = False,
) -> list[SearchRound]:
    """(N, D) standardised features of one or several kinds, (N,) classes → rounds, each without what those before it
    explain. A witness of NETWORKS looks at `images`, (N, H, W, 3) uint8, from which nothing can be taken out: it is
    asked in one round only, and only by name, for it takes minutes.

    It ends with the first round in which no witness is believed; that round is there too, so that it can be seen.
    """
    check_witness(witness)
    asked = _asked(witness, images, silent)
    most = 1 if witness in NETWORKS else MOST
    rounds: list[SearchRound] = []
    with meter("witnesses", most * len(features) * len(asked), silent=silent) as bar, _at_once(witness) as each:
        while len(rounds) < most:
            answers = dict(zip(features, each(lambda x: ordinary_answers(x, y, seed), features.values()), strict=True))
            candidates = []
            for one in each(partial(_candidate, features, answers, asked, seed), product(features, asked)):
                candidates.append(one)
                bar.advance()
            rounds.append(SearchRound(tuple(sorted(candidates, key=_order))))
            if not rounds[-1].best.belief.believed:
                break
            guess = rounds[-1].best.testimony.value
            features = {kind: erased(x, y, guess) for kind, x in features.items()}
        bar.advance(len(features) * len(asked) * (most - len(rounds)))
    return rounds


@contextmanager
def _at_once(witness: str) -> Iterator[Callable[..., Iterable[Any]]]:
    """`map`, in as many threads as there are cores, each with one: what is found does not depend on their number.

    A network is trained on all cores, and by the thread that asks, which alone can be stopped.
    """
    if witness in NETWORKS:
        yield map
        return
    cores = torch.get_num_threads()
    # A new thread has no limits before it has asked for them, for PyTorch then sets its own.
    with one_thread(), ThreadPoolExecutor(cores, "witness", torch.get_num_threads) as pool:
        yield pool.map


def _candidate(
    features: Mapping[str, np.ndarray],
    answers: Mapping[str, Predictions],
    asked: Mapping[str, Witness],
    seed: int,
    pair: tuple[str, str],
) -> Candidate:
    """What a witness says of a kind of features, and how far it is believed."""
    kind, name = pair
    x, guess_of, y = features[kind], asked[name], answers[kind].y
    testimony = guess_of(x, y, seed)
    belief = believe(x, answers[kind], testimony.value, lambda: guess_of(x, y, seed + 1).value)
    return Candidate(name, kind, testimony, belief)


def _asked(witness: str, images: Pixels | None, silent: bool) -> dict[str, Witness]:
    if witness in NETWORKS:
        if images is None:
            raise ValueError(f"witness '{witness}' is a network: it needs images")

        from fairflac.discovery.guesses import network_witness  # and so what trains networks, which takes seconds

        return {witness: network_witness(witness, images, silent=silent)}
    return WITNESSES if witness == AUTO else {witness: WITNESSES[witness]}


def _order(one: Candidate) -> tuple[bool, float]:
    """Those that are believed first, then by score."""
    return not one.belief.believed, -one.belief.score


def erased(features: np.ndarray, y: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """(N, D) features of which no linear model can tell the guess within a class; else as little changed as can be.

    LEACE (Belrose et al., NeurIPS 2023), with everything centred within classes, so that what goes with the class by
    itself stays.
    """
    x, z = (_within_classes(values, y) for values in (features.astype(np.float64), np.eye(guess.max() + 1)[guess]))
    covariance = x.T @ x / len(x)
    variances, axes = np.linalg.eigh(
        covariance + RIDGE * covariance.trace() / len(covariance) * np.eye(len(covariance))
    )
    whiten, colour = (axes * variances**power @ axes.T for power in (-0.5, 0.5))
    directions, sizes, _ = np.linalg.svd(whiten @ (x.T @ z / len(x)), full_matrices=False)
    directions = directions[:, sizes > 1e-10 * max(sizes.max(), 1e-300)]  # one-hot values add up to 1: one is too many
    centred = features - features.mean(0)
    left: np.ndarray = (features - centred @ (whiten @ directions) @ (directions.T @ colour)).astype(np.float32)
    return left


def _within_classes(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(N, D) minus the mean of the class."""
    counts = np.bincount(y)
    sums = np.zeros((len(counts), values.shape[1]))
    np.add.at(sums, y, values)
    centred: np.ndarray = values - (sums / np.maximum(counts, 1)[:, None])[y]
    return centred
