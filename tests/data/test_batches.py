"""Which samples make up a batch, and what a network sees of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairflac.data.batches import ImageInputs, VectorInputs, epoch_batches, inputs_of
from fairflac.data.pixels.augment import make_augmentation
from fairflac.errors import UserError
from fairflac.types import PairedSampling
from toy import TASK, toy_data

CPU = torch.device("cpu")


def test_pixels_are_normalised_and_channels_last() -> None:
    images = np.zeros((3, 6, 6, 3), dtype=np.uint8)
    images[1, 2, 4] = (255, 51, 0)
    (x,) = ImageInputs(images, TASK, CPU)(torch.tensor([1, 0]))
    assert x.shape == (2, 3, 6, 6) and x.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(x[0, :, 2, 4], torch.tensor([1.0, -0.6, -1.0]))
    assert (x[1] == -1).all()


def test_without_augmentation_the_network_sees_the_middle() -> None:
    images = np.random.default_rng(0).integers(0, 256, (5, 9, 8, 3), dtype=np.uint8)
    first, second = ImageInputs(images, TASK, CPU)(torch.tensor([3, 1]), views=2)
    middle = torch.from_numpy(images[[3, 1], 1:7, 1:7]).permute(0, 3, 1, 2)
    torch.testing.assert_close(first, (middle / 255 - 0.5) / 0.5)
    assert first.is_contiguous(memory_format=torch.channels_last) and torch.equal(first, second)


def test_images_that_do_not_fill_the_network_are_refused() -> None:
    with pytest.raises(UserError, match=r"6 x 6 are too small: .* 6 x 7"):
        ImageInputs(np.zeros((1, 6, 6, 3), dtype=np.uint8), replace(TASK, image_size=(6, 7)), CPU)


def test_vectors_are_rows_as_they_are() -> None:
    vectors = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    rows = inputs_of(replace(toy_data(5), images=vectors), CPU)
    assert isinstance(rows, VectorInputs) and isinstance(inputs_of(toy_data(5), CPU), ImageInputs)
    first, second = rows(torch.tensor([3, 1]), views=2)
    np.testing.assert_array_equal(first, vectors[[3, 1]])
    assert torch.equal(first, second)


def test_vectors_are_not_augmented() -> None:
    with pytest.raises(UserError, match="vectors are not images"):
        VectorInputs(np.zeros((2, 3), dtype=np.float32), CPU, make_augmentation("crop-flip", (6, 6), 0))


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


def test_every_batch_has_its_share_of_scarce_samples() -> None:
    """5 of 200 are scarce, in two groups: a quarter of each batch, the groups in turn, each member equally often."""
    group = torch.full((200,), -1)
    group[torch.tensor([3, 50, 70])], group[torch.tensor([110, 199])] = 0, 1
    paired = PairedSampling(group, 0.25)
    batches = epoch_batches(200, 16, seed=0, epoch=1, paired=paired)
    assert batches.shape == (12, 16) and torch.equal(batches, epoch_batches(200, 16, seed=0, epoch=1, paired=paired))
    scarce = group[batches]
    assert ((scarce >= 0).sum(1) >= 4).all() and ((scarce == 0).sum(1) >= 2).all() and ((scarce == 1).sum(1) >= 2).all()
    times = batches.flatten().bincount(minlength=200)
    assert times[[110, 199]].min() >= 12 and times[[3, 50, 70]].min() >= 8  # 24 turns of each group
    assert times[group < 0].max() == 1 and times[group < 0].sum() > 130  # the rest as they come
    parts = [epoch_batches(200, 16, seed=0, epoch=1, paired=paired, rank=rank, world=2) for rank in range(2)]
    assert torch.equal(torch.cat(parts, 1), batches)


def test_nothing_scarce_changes_nothing() -> None:
    paired = PairedSampling(torch.full((50,), -1), 0.25)
    assert torch.equal(epoch_batches(50, 8, seed=1, epoch=2, paired=paired), epoch_batches(50, 8, seed=1, epoch=2))


def test_weights_draw_with_replacement() -> None:
    weights = torch.tensor([0.0, 1.0, 3.0, 0.0])
    drawn = torch.cat([epoch_batches(4, 4, seed=0, epoch=e, weights=weights).flatten() for e in range(500)])
    share = drawn.bincount(minlength=4) / len(drawn)
    torch.testing.assert_close(share, weights / 4, rtol=0, atol=0.03)
    again = epoch_batches(4, 4, seed=0, epoch=3, weights=weights)
    assert torch.equal(again, epoch_batches(4, 4, seed=0, epoch=3, weights=weights))
