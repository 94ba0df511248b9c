"""Limits against a search over all of them."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.methods.ssa import confidence_limits, split_by_group


def slow(confidence: list[float], group: list[int], labelled: list[int], tau: float) -> list[set[int]]:
    """Which guesses each group takes: the most that keep it within the size of the smallest."""
    smallest = min((n, g) for g, n in enumerate(labelled) if n)[1]
    taken: list[set[int]] = []
    size = labelled[smallest] + sum(c >= tau for c, g in zip(confidence, group, strict=True) if g == smallest)
    for g, own in enumerate(labelled):
        of_group = [i for i, other in enumerate(group) if other == g]
        cuts = [{i for i in of_group if confidence[i] >= cut} for cut in sorted({*confidence, 0.0})] + [set()]
        if g == smallest:
            taken.append({i for i in of_group if confidence[i] >= tau})
        else:
            taken.append(next((cut for cut in cuts if own + len(cut) <= size), set()))
    return taken


guesses = st.lists(st.tuples(st.sampled_from([0.3, 0.5, 0.7, 0.9, 0.96, 0.99]), st.integers(0, 3)), max_size=30)


@given(guesses, st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any))
@settings(deadline=None)
def test_as_many_as_fit(rows: list[tuple[float, int]], labelled: list[int]) -> None:
    confidence, group = [c for c, _ in rows], [g for _, g in rows]
    limits = confidence_limits(
        torch.tensor(confidence), torch.tensor(group, dtype=torch.long), torch.tensor(labelled), tau=0.95
    )
    expected = slow(torch.tensor(confidence).tolist(), group, labelled, 0.95)
    for g, taken in enumerate(expected):
        assert {i for i in range(len(rows)) if group[i] == g and confidence[i] >= limits[g]} == taken


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.sampled_from([0.5, 0.8]))
@settings(deadline=None)
def test_every_group_is_split_alike(group: list[int], share: float) -> None:
    first = split_by_group(torch.tensor(group), share)
    for g in set(group):
        assert sum(bool(f) for f, other in zip(first, group, strict=True) if other == g) == int(share * group.count(g))
