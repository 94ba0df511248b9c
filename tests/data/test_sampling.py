import torch
from hypothesis import given
from hypothesis import strategies as st

from fairflac.data.batches import epoch_batches


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


def test_weights_draw_with_replacement() -> None:
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0])
    drawn = torch.cat([epoch_batches(4, 4, seed=0, epoch=e, weights=weights).flatten() for e in range(500)])
    share = drawn.bincount(minlength=4) / len(drawn)
    torch.testing.assert_close(share, weights / 4, rtol=0, atol=0.03)
    again = epoch_batches(4, 4, seed=0, epoch=3, weights=weights)
    assert torch.equal(again, epoch_batches(4, 4, seed=0, epoch=3, weights=weights))
