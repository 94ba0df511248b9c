"""An augmented image is a function of (seed, epoch, sample, view); what each preset does to it."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairflac.data.batches import ImageInputs, epoch_batches
from fairflac.data.pixels import augment as jitter
from fairflac.data.pixels.augment import PRESETS, Augment, Augmentation, Jitter, Preset, jittered, make_augmentation
from toy import TASK

CPU = torch.device("cpu")
SIZE = (16, 16)
LARGER = replace(TASK, image_size=SIZE)
IMAGES = np.random.default_rng(0).integers(0, 256, (40, 18, 18, 3), dtype=np.uint8)

each_preset = pytest.mark.parametrize("name", PRESETS)


def pixels(name: Augmentation, seed: int = 0) -> ImageInputs:
    return ImageInputs(IMAGES, LARGER, CPU, make_augmentation(name, SIZE, seed))


def augmented(preset: Preset, images: np.ndarray, epoch: int = 0) -> Tensor:
    """(B, 3, h, w) in [0, 1], of the size that is stored."""
    augment = Augment(preset, images.shape[1:3], seed=0)
    return augment(torch.from_numpy(images), torch.arange(len(images)), epoch=epoch, view=0)


def test_every_name_has_a_preset() -> None:
    assert set(get_args(Augmentation)) == {"none", *PRESETS}
    assert make_augmentation("none", SIZE, 0) is None


@each_preset
@settings(max_examples=25)
@given(index=st.lists(st.integers(0, 39), min_size=1, max_size=20), epoch=st.integers(0, 99))
def test_an_image_does_not_depend_on_its_batch(name: Augmentation, index: list[int], epoch: int) -> None:
    everything = pixels(name)(torch.arange(40), 2, epoch)
    some = pixels(name)(torch.tensor(index), 2, epoch)
    for whole, part in zip(everything, some, strict=True):
        assert torch.equal(whole[index], part)


@each_preset
def test_processes_share_the_images_of_one(name: Augmentation) -> None:
    make = pixels(name)
    joint = epoch_batches(40, 10, seed=3, epoch=2)
    shards = [epoch_batches(40, 10, seed=3, epoch=2, rank=rank, world=2) for rank in range(2)]
    for step, index in enumerate(joint):
        together = torch.cat([make(shard[step], epoch=2)[0] for shard in shards])
        assert torch.equal(make(index, epoch=2)[0], together)


@each_preset
def test_epochs_views_and_seeds_differ_and_the_global_generator_has_no_part(name: Augmentation) -> None:
    index = torch.arange(40)
    first, second = pixels(name)(index, views=2, epoch=4)
    state = torch.get_rng_state()
    others = {"view": second, "epoch": pixels(name)(index, epoch=5)[0], "seed": pixels(name, seed=1)(index, epoch=4)[0]}
    for what, other in others.items():
        differ = (first != other).flatten(1).any(1).float().mean()
        assert differ > 0.9, what
    torch.manual_seed(5)
    assert torch.equal(first, pixels(name)(index, epoch=4)[0])
    torch.set_rng_state(state)
    pixels(name)(index)
    assert torch.equal(state, torch.get_rng_state())


@each_preset
def test_equal_images_are_augmented_differently(name: Augmentation) -> None:
    same = np.repeat(IMAGES[:1], 40, axis=0)
    (x,) = ImageInputs(same, LARGER, CPU, make_augmentation(name, SIZE, 0))(torch.arange(40))
    assert len({image.numpy().tobytes() for image in x}) > 30


@each_preset
def test_images_are_channels_last_and_in_range(name: Augmentation) -> None:
    (x,) = pixels(name)(torch.arange(40), epoch=1)
    assert x.shape == (40, 3, *SIZE) and x.is_contiguous(memory_format=torch.channels_last)
    assert x.min() >= -1 - 1e-5 and x.max() <= 1 + 1e-5  # 0 and 1 after the toy's normalisation


def test_padded_crops_are_exact() -> None:
    images = IMAGES[:, :16, :16]
    x = (255 * augmented(PRESETS["pad-crop-flip"], images)).round().byte()
    seen = set()
    for image, result in zip(images, x.permute(0, 2, 3, 1).numpy(), strict=True):
        padded = np.pad(image, ((4, 4), (4, 4), (0, 0)))
        places = [(top, left, flip) for top in range(9) for left in range(9) for flip in (1, -1)]
        found = [p for p in places if (padded[p[0] : p[0] + 16, p[1] : p[1] + 16][:, :: p[2]] == result).all()]
        assert len(found) == 1
        seen.add(found[0])
    assert len(seen) > 25


def test_rotations_go_both_ways_and_not_too_far() -> None:
    """A line through the centre shows its angle."""
    size = 41
    line = np.zeros((200, size, size, 3), dtype=np.uint8)
    line[:, size // 2] = 255
    x = augmented(Preset(degrees=20.0), line)[:, 0, :, size // 2 + 16]  # (B, rows): where the line crosses a column
    rows = torch.arange(size) - size // 2
    height = -(x * rows).sum(1) / x.sum(1)  # counter-clockwise is up
    angle = torch.rad2deg(torch.atan(height / 16))
    assert -20.5 < angle.min() < -17 and 17 < angle.max() < 20.5
    assert angle.mean().abs() < 2.5


def test_jitter_by_its_numbers_and_only_where_chosen() -> None:
    x = torch.rand(4, 3, 5, 5)
    u = np.array([[0.5, 0.0, 0.999, 0.3]] * 4 + [[0.9, 0.79, 0.1, 0.81]])
    ranges = Jitter(0.4, 0.3, 0.2, 0.1, probability=0.8)
    result = jittered(x, ranges, u)
    assert torch.equal(result[[0, 3]], x[[0, 3]])
    for i, offset in ((1, -1.0), (2, 0.998)):
        expected = jitter.brightness(x[i : i + 1], torch.tensor([1 + 0.4 * offset]))
        expected = jitter.contrast(expected, torch.tensor([1 + 0.3 * offset]))
        expected = jitter.saturation(expected, torch.tensor([1 + 0.2 * offset]))
        expected = jitter.hue(expected, torch.tensor([0.1 * offset]))
        torch.testing.assert_close(result[i : i + 1], expected)


def test_hues_move_within_their_range() -> None:
    red = np.zeros((2000, 2, 2, 3), dtype=np.uint8)
    red[..., 0] = 200
    x = augmented(Preset(jitter=Jitter(0, 0, 0, 0.1, probability=1.0)), red)[:, :, 0, 0]
    turn = (x[:, 1] - x[:, 2]) / (6 * x[:, 0])  # between magenta and yellow the hue is linear
    assert -0.1 <= turn.min() < -0.098 and 0.098 < turn.max() <= 0.1
    assert turn.mean().abs() < 0.005


def test_shares_of_jittered_and_grey_images() -> None:
    images = np.random.default_rng(1).integers(0, 256, (2000, 2, 2, 3), dtype=np.uint8)
    plain = augmented(Preset(), images)
    moved = augmented(Preset(jitter=Jitter(0.4, 0.4, 0.4, 0.1, probability=0.8)), images)
    assert (moved != plain).flatten(1).any(1).float().mean() == pytest.approx(0.8, abs=0.03)
    x = augmented(Preset(grey=0.2), images)
    grey = (x == x[:, :1]).flatten(1).all(1)
    assert grey.float().mean() == pytest.approx(0.2, abs=0.03)
    torch.testing.assert_close(x[grey], jitter.grey(plain[grey]).expand(-1, 3, -1, -1))
    assert torch.equal(x[~grey], plain[~grey])


def test_flips_are_mirrors() -> None:
    plain, x = augmented(Preset(), IMAGES), augmented(Preset(flip=True), IMAGES)
    flipped = torch.tensor([not torch.equal(a, b) for a, b in zip(plain, x, strict=True)])
    assert torch.equal(x[flipped], plain[flipped].flip(3)) and 10 < flipped.sum() < 30
