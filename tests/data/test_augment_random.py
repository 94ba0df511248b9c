"""Stateless random numbers against plain Python integers and against chance."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairflac.data.pixels.augment import GOLDEN, Purpose, RandomNumbers, mix

WORD = 2**64 - 1


def slow_mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def test_the_published_sequence_of_splitmix64() -> None:
    states = np.arange(3, dtype=np.uint64) * GOLDEN
    assert [hex(word) for word in mix(states)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


@given(
    seed=st.integers(0, 2**32 - 1),
    epoch=st.integers(0, 10**6),
    view=st.integers(0, 9),
    index=st.lists(st.integers(0, 2**40), min_size=1, max_size=5),
    purpose=st.sampled_from(Purpose),
)
def test_numbers_are_the_hash_of_where_they_are_used(
    seed: int, epoch: int, view: int, index: list[int], purpose: Purpose
) -> None:
    uniform = RandomNumbers.at(seed=seed, epoch=epoch, view=view, index=torch.tensor(index)).uniform(purpose, 3)
    for column, i in enumerate(index):
        for row in range(3):
            word = 0
            for part in (seed, epoch, view, i, purpose, row):
                word = slow_mix(word ^ part)
            assert uniform[row, column] == (word >> 11) / 2**53


@pytest.mark.parametrize("varied", ["seed", "epoch", "view", "index", "purpose", "number"])
def test_numbers_are_uniform_and_neighbours_unrelated(varied: str) -> None:
    n = 8_000
    place = {"seed": 3, "epoch": 5, "view": 0}
    if varied in place:
        rows = [
            RandomNumbers.at(**{**place, varied: i}, index=torch.tensor([7])).uniform(Purpose.CROP, 1)[0]
            for i in range(n)
        ]
        numbers = np.concatenate(rows)
    elif varied == "index":
        numbers = RandomNumbers.at(**place, index=torch.arange(n)).uniform(Purpose.CROP, 1)[0]
    elif varied == "number":
        numbers = RandomNumbers.at(**place, index=torch.tensor([7])).uniform(Purpose.CROP, n)[:, 0]
    else:
        random = RandomNumbers.at(**place, index=torch.arange(n // len(Purpose)))
        numbers = np.stack([random.uniform(purpose, 1)[0] for purpose in Purpose], axis=1).ravel()
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    expected = len(numbers) / 20
    assert ((counts - expected) ** 2 / expected).sum() < 50  # chi-squared, 19 degrees: one chance in 8000
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4 / n**0.5


def test_asking_for_more_numbers_keeps_the_first() -> None:
    numbers = RandomNumbers.at(seed=0, epoch=0, view=0, index=torch.arange(4))
    assert (numbers.uniform(Purpose.JITTER, 9)[:5] == numbers.uniform(Purpose.JITTER, 5)).all()
