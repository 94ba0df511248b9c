"""Frozen features: what is computed, kept, and refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from fairflac.discovery.features import (
    BATCH,
    FeatureExtractor,
    extract,
    imagenet_extractor,
    pixel_extractor,
    read_features,
    standardised,
)
from fairflac.errors import UserError
from fairflac.nets.resnet import ResNet18
from fairflac.nets.weights import imagenet_file

IMAGES = np.random.default_rng(0).integers(0, 256, (BATCH + 3, 24, 24, 3), dtype=np.uint8)


@pytest.fixture
def counted() -> tuple[FeatureExtractor, list[int]]:
    """An extractor that notes how many images it was given."""
    given: list[int] = []

    def features(images: np.ndarray) -> np.ndarray:
        given.append(len(images))
        return images.mean((1, 2)).astype(np.float32)

    return FeatureExtractor("means", (24, 24), "1", features), given


def test_features_are_computed_once_for_weights_and_images(
    counted: tuple[FeatureExtractor, list[int]], tmp_path: Path
) -> None:
    extractor, given = counted
    first, second = (extract(extractor, IMAGES, tmp_path, silent=True) for _ in range(2))
    np.testing.assert_array_equal(first, IMAGES.mean((1, 2)).astype(np.float32))
    np.testing.assert_array_equal(first, second)
    assert given == [BATCH, 3]
    extract(extractor, IMAGES[::-1], tmp_path, silent=True)  # the same images in another order
    extract(replace(extractor, identity="2"), IMAGES, tmp_path, silent=True)
    assert len(given) == 6


def test_where_nothing_can_be_kept_it_is_computed_each_time(
    counted: tuple[FeatureExtractor, list[int]], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for _ in range(2):
        assert len(extract(counted[0], IMAGES, tmp_path / "file" / "cache", silent=True)) == len(IMAGES)
    assert len(counted[1]) == 4


def test_a_damaged_cache_is_made_again(counted: tuple[FeatureExtractor, list[int]], tmp_path: Path) -> None:
    extractor, given = counted
    expected = np.array(extract(extractor, IMAGES, tmp_path, silent=True))  # the file below it is cut
    (kept,) = tmp_path.glob("features-*.npy")
    kept.write_bytes(kept.read_bytes()[:200])
    np.testing.assert_array_equal(extract(extractor, IMAGES, tmp_path, silent=True), expected)
    assert len(given) == 4


def test_the_imagenet_network_shows_its_pooled_features(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = ResNet18(1000).eval()
    path = imagenet_file(tmp_path)
    path.parent.mkdir()
    save_file(net.state_dict(), path)
    images = np.random.default_rng(0).integers(0, 256, (3, 96, 96, 3), dtype=np.uint8)
    found = imagenet_extractor(tmp_path).features(images)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    with torch.no_grad():
        expected = net(((torch.from_numpy(images) / 255 - mean) / std).permute(0, 3, 1, 2)).features
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-5)
    assert imagenet_extractor(tmp_path).features(images[:, ::4, ::4]).shape == (3, 512)  # enlarged


def test_without_weights_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="fairflac data get imagenet-weights"):
        imagenet_extractor(tmp_path)


def test_pixels_are_the_image_made_small() -> None:
    images = np.zeros((1, 96, 96, 3), np.uint8)
    images[0, :48, :, 0] = 255
    found = pixel_extractor().features(images).reshape(16, 16, 3)
    assert found[:8, :, 0].min() == 1 and found[8:].max() == found[..., 1:].max() == 0


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (np.zeros((4, 2)), "has 4 rows, and there are 5 images"),
        (np.zeros((5, 2, 2)), "of shape (5, 2, 2)"),
        (np.zeros((5, 0)), "of shape (5, 0)"),
        (np.array(list("abcde"))[:, None], "features are numbers"),
        (np.where(np.arange(10).reshape(5, 2) == 7, np.nan, 1.0), "row 3 of"),
        (np.where(np.arange(10).reshape(5, 2) == 2, np.inf, 1.0), "row 1 of"),
    ],
)
def test_features_that_do_not_fit_are_refused(content: np.ndarray, part: str, tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", content)
    with pytest.raises(UserError) as error:
        read_features(tmp_path / "features.npy", 5)
    assert part in str(error.value)


def test_files_that_are_no_features(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file"):
        read_features(tmp_path / "features.npy", 5)
    (tmp_path / "features.npy").write_text("1 2 3")
    with pytest.raises(UserError, match=r"is no \.npy file of numbers"):
        read_features(tmp_path / "features.npy", 5)
    np.save(tmp_path / "whole.npy", np.arange(6).reshape(3, 2))
    assert read_features(tmp_path / "whole.npy", 3).dtype == np.float32


def test_standardised() -> None:
    found = standardised(np.array([[1.0, 5], [3, 5]], np.float32))
    np.testing.assert_array_equal(found, [[-1, 0], [1, 0]])


def test_other_images_are_standardised_alike() -> None:
    first, second = np.array([[0.0, 5.0], [2.0, 5.0]]), np.array([[3.0, 6.0]])
    np.testing.assert_array_equal(standardised(second, like=first), [[2.0, 1.0]])
