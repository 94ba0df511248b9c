"""Attributes guessed from the labels of a few: whose labels teach, and how sure a guess must be to count as one."""

import torch
from torch import Tensor


def split_by_group(group: Tensor, share: float) -> Tensor:
    """(M,) groups → (M,) who is in the first part: `share` of every group, rounded down, and the same every time."""
    order = torch.randperm(len(group), generator=torch.Generator().manual_seed(0)).to(group.device)
    order = order[group[order].argsort(stable=True)]  # by group, and within it at random
    sizes = group.bincount()
    first = (sizes.cumsum(0) - sizes)[group[order]]
    place = torch.empty_like(group)
    place[order] = torch.arange(len(group), device=group.device) - first
    return place < (share * sizes.double()).floor()[group]


def confidence_limits(confidence: Tensor, group: Tensor, labelled: Tensor, tau: float) -> Tensor:
    """(M,) confidences and groups of guesses, (G,) labelled samples of each group → (G,) least confidences.

    The smallest group that has labels takes guesses from `tau` on. Each other group g takes as many of its surest as
    leave |D_L(g)| + |D_U(g, τ_g)| at the size of the smallest or below (Nam et al., ICLR 2022, Section 3.2). A limit
    above 1 takes none.
    """
    labels = torch.where(labelled > 0, labelled, labelled.max() + 1)
    smallest = labels.argmin()
    size = labelled[smallest] + ((group == smallest) & (confidence >= tau)).sum()
    room = (size - labelled).clamp_min(0)  # (G,) guesses that fit in
    guesses = group.bincount(minlength=len(labelled))
    # By group, and within it from the surest on; `first` is where a group begins.
    surest = confidence.argsort(descending=True, stable=True)
    by_group = surest[group[surest].argsort(stable=True)]
    first = guesses.cumsum(0) - guesses
    ranked = torch.cat([confidence[by_group], confidence.new_zeros(1)])
    # The surest that does not fit in any more: a limit just above it keeps it out, with all that are as sure.
    excluded = ranked[(first + room).clamp_max(len(confidence))]
    just_above = torch.nextafter(excluded, torch.full_like(excluded, torch.inf))
    limits = torch.where(room >= guesses, 0.0, just_above)
    limits = torch.where(room == 0, torch.inf, limits)
    limits[smallest] = tau
    return limits
