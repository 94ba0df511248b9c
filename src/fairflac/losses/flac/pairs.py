"""Which pairs FLAC uses: the set S of Eq. 1, inferred from the bias model alone (Eq. 2)."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

Pairs = Literal["conflicting", "all", "same-target", "different-target"]
Threshold = Literal["midrange", "midrange-off-diagonal"]


class PairSets(NamedTuple):
    """Boolean (N, N) masks, none of them with a true diagonal."""

    same_target: Tensor  # A10: same class, different attribute
    different_target: Tensor  # A01: different class, same attribute
    threshold: Tensor  # () the kernel value above which two samples share the attribute


def attribute_threshold(similarity: Tensor, rule: Threshold) -> Tensor:
    """Midway between the largest and the smallest similarity of the bias model (Eq. 2).

    `midrange` takes them over the whole matrix, whose diagonal fixes the maximum (what the released code does);
    `midrange-off-diagonal` over pairs of two samples (the paper's set A).
    """
    if rule == "midrange" or len(similarity) < 2:
        return (similarity.max() + similarity.min()) / 2
    diagonal = torch.eye(len(similarity), dtype=torch.bool, device=similarity.device)
    largest = similarity.masked_fill(diagonal, -torch.inf).max()
    return (largest + similarity.masked_fill(diagonal, torch.inf).min()) / 2


def conflicting_pairs(similarity: Tensor, y: Tensor, rule: Threshold) -> PairSets:
    """The two halves of S. A tie with the threshold is in neither (`midrange`) or counts as different (paper)."""
    threshold = attribute_threshold(similarity, rule)
    same_attribute = similarity > threshold
    different_attribute = similarity < threshold if rule == "midrange" else ~same_attribute
    same_class = y[:, None] == y[None, :]
    off_diagonal = ~torch.eye(len(y), dtype=torch.bool, device=y.device)
    return PairSets(same_class & different_attribute & off_diagonal, ~same_class & same_attribute, threshold)


def select(sets: PairSets, pairs: Pairs) -> Tensor:
    """(N, N) mask of the pairs that enter the loss."""
    if pairs == "same-target":
        return sets.same_target
    if pairs == "different-target":
        return sets.different_target
    if pairs == "conflicting":
        return sets.same_target | sets.different_target
    return ~torch.eye(len(sets.same_target), dtype=torch.bool, device=sets.same_target.device)
