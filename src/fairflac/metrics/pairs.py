"""Does a bias model put the right pairs in S? Precision and recall of the inferred S against the true attribute."""

from dataclasses import dataclass

import numpy as np
import torch

from fairflac.losses.flac.inferred import inferred_pairs
from fairflac.losses.flac.settings import Settings

BATCHES = 100  # at most; S is a matter of a batch, as its threshold is


@dataclass
class Half:
    """Counts of pairs over batches, of one half of S (paper, Eq. 1)."""

    candidates: int = 0  # pairs of the same class (A10) or of different classes (A01)
    inferred: int = 0
    true: int = 0
    both: int = 0

    def add(self, candidates: np.ndarray, inferred: np.ndarray, true: np.ndarray) -> None:
        """(N, N) masks of one batch."""
        self.candidates += int(np.count_nonzero(candidates))
        self.inferred += int(np.count_nonzero(inferred))
        self.true += int(np.count_nonzero(true))
        self.both += int(np.count_nonzero(inferred & true))

    def summary(self) -> dict[str, float]:
        """Precision, recall, and the precision of pairs drawn blindly from the candidates."""
        return {
            "precision": self.both / max(self.inferred, 1),
            "recall": self.both / max(self.true, 1),
            "chance": self.true / max(self.candidates, 1),
        }


def pair_quality(
    features: np.ndarray, y: np.ndarray, bias: np.ndarray | None, settings: Settings, batch_size: int, seed: int = 0
) -> dict[str, float]:
    """Over random batches: pairs in S per batch, their share, and with `bias` known how right S and its halves are.

    Keys `same_target.precision` and so on are of A10 (same class, different attribute), `different_target.…` of A01
    (different class, same attribute), `s.…` of both together.
    """
    halves = {"same_target": Half(), "different_target": Half(), "s": Half()}
    order = np.random.default_rng(seed).permutation(len(y))
    batches = [part for part in np.array_split(order, max(len(y) // batch_size, 1))[:BATCHES] if len(part) > 1]
    for index in batches:
        inferred = inferred_pairs(torch.from_numpy(features[index]), torch.from_numpy(y[index]), settings)
        a10, a01 = (mask.numpy() for mask in inferred)
        same_class = y[index][:, None] == y[index]
        same_bias = np.ones_like(same_class) if bias is None else bias[index][:, None] == bias[index]
        other = ~np.eye(len(index), dtype=bool)
        halves["same_target"].add(same_class & other, a10, same_class & ~same_bias)
        halves["different_target"].add(~same_class, a01, ~same_class & same_bias)
        halves["s"].add(other, a10 | a01, same_class ^ same_bias)
    s = halves["s"]
    found = {"pairs": s.inferred / max(len(batches), 1), "share": s.inferred / max(s.candidates, 1)}
    if bias is None:
        return found
    return found | {f"{name}.{key}": value for name, half in halves.items() for key, value in half.summary().items()}
