import torch
from hypothesis import given
from hypothesis import strategies as st

from fairflac.data.sampling import epoch_batches


def test_a_function_of_seed_and_epoch() -> None:
    assert torch.equal(epoch_batches(50, 8, seed=1, epoch=2), epoch_batches(50, 8, seed=1, epoch=2))
    assert not torch.equal(epoch_batches(50, 8, seed=1, epoch=2), epoch_batches(50, 8, seed=1, epoch=3))
    assert not torch.equal(epoch_batches(50, 8, seed=1, epoch=2), epoch_batches(50, 8, seed=2, epoch=2))


@given(st.integers(2, 200), st.integers(2, 64), st.integers(0, 5))
def test_no_sample_twice_and_only_whole_batches(n: int, batch_size: int, epoch: int) -> None:
    batches = epoch_batches(n, batch_size, seed=0, epoch=epoch)
    assert batches.shape == (max(1, n // batch_size), min(n, batch_size))
    assert len(batches.unique()) == batches.numel() and batches.max() < n


def test_processes_share_the_batches_of_one() -> None:
    whole = epoch_batches(40, 8, seed=0, epoch=0)
    parts = [epoch_batches(40, 8, seed=0, epoch=0, rank=rank, world=2) for rank in range(2)]
    assert torch.equal(torch.cat(parts, dim=1), whole)
