from dataclasses import replace

import numpy as np
import pytest
import torch

from fairflac.data.batches import ImageInputs, VectorInputs, inputs_of
from fairflac.data.pixels.augment import make_augmentation
from fairflac.errors import UserError
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
    with pytest.raises(UserError, match="6 x 6 do not fill the 6 x 7"):
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
