import numpy as np
import pytest
import torch

from fairflac.data.augment import make_augmentation
from fairflac.data.tensors import Pixels
from toy import TASK


def test_pixels_are_normalised_and_channels_last() -> None:
    images = np.zeros((3, 6, 6, 3), dtype=np.uint8)
    images[1, 2, 4] = (255, 51, 0)
    (x,) = Pixels(images, TASK, torch.device("cpu"))(torch.tensor([1, 0]))
    assert x.shape == (2, 3, 6, 6) and x.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(x[0, :, 2, 4], torch.tensor([1.0, -0.6, -1.0]))
    assert (x[1] == -1).all()


@pytest.mark.parametrize("name", ["crop-flip", "rotate-jitter"])
def test_views_differ_and_repeat_with_the_generator(name: str) -> None:
    images = np.random.default_rng(0).integers(0, 255, (4, 6, 6, 3), dtype=np.uint8)
    augment = make_augmentation(name, (6, 6))  # type: ignore[arg-type]
    pixels = Pixels(images, TASK, torch.device("cpu"), augment)
    torch.manual_seed(0)
    first, second = pixels(torch.arange(4), views=2)
    torch.manual_seed(0)
    again, _ = pixels(torch.arange(4), views=2)
    assert first.shape == (4, 3, 6, 6) and not torch.equal(first, second) and torch.equal(first, again)
