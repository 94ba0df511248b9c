"""W(x) stays a share where losses vanish."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairflac.losses.reweighting import RelativeDifficulty

# Losses of a model that has learnt everything are 0, or so small that their sum is.
LOSSES = st.lists(st.sampled_from([0.0, 1e-45, 1e-30]) | st.floats(0, 50), min_size=6, max_size=6)


@settings(deadline=None)
@given(LOSSES, LOSSES)
def test_weights_are_shares_whatever_the_losses(biased: list[float], debiased: list[float]) -> None:
    difficulty = RelativeDifficulty(num_classes=4, decay=0.7)  # of which one has no sample
    difficulty.prepare(torch.tensor([0, 0, 0, 1, 1, 2]))
    for part in (torch.arange(0, 3), torch.arange(3, 6), torch.arange(0, 6)):
        weights = difficulty(part, torch.tensor(biased)[part], torch.tensor(debiased)[part])
        assert ((weights >= 0) & (weights <= 1)).all()


def test_failures_of_the_biased_model_weigh_more() -> None:
    difficulty = RelativeDifficulty(num_classes=1, decay=0.7)
    difficulty.prepare(torch.zeros(3, dtype=torch.int64))
    weights = difficulty(torch.arange(3), torch.tensor([4.0, 0.1, 0.0]), torch.tensor([2.0, 2.0, 0.0]))
    torch.testing.assert_close(weights, torch.tensor([1 / 2, 0.025 / 1.025, 0.0]))
