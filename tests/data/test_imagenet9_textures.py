from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from fairflac.data.own.listing import MEAN, STD
from fairflac.data.sets.imagenet9 import TEXTURES, compute_textures, gram_matrices
from fairflac.errors import UserError
from fairflac.nets.textures import VGG16

# Facts of torchvision's vgg16: position among its features, and widths, of the convolutions up to conv3_3.
CONVOLUTIONS = {0: (3, 64), 2: (64, 64), 5: (64, 128), 7: (128, 128), 10: (128, 256), 12: (256, 256), 14: (256, 256)}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Noise in the shape of torchvision's file, with some of what we do not need."""
    generator = torch.Generator().manual_seed(0)
    state = {}
    for layer, (inputs, outputs) in CONVOLUTIONS.items():
        std = (2 / (9 * inputs)) ** 0.5
        state[f"features.{layer}.weight"] = std * torch.randn(outputs, inputs, 3, 3, generator=generator)
        state[f"features.{layer}.bias"] = torch.zeros(outputs)
    state["features.17.weight"] = torch.zeros(1)
    state["classifier.6.bias"] = torch.zeros(1000)
    path = tmp_path_factory.mktemp("weights") / "vgg.pth"
    torch.save(state, path)
    return path


def stripes(number: int, size: int = 16) -> np.ndarray:
    """Nine textures: stripes across, along and none, in three colours each; shifted and noisy."""
    rng = np.random.default_rng(0)
    images = np.empty((number, size, size, 3), dtype=np.uint8)
    for i in range(number):
        wave = 100 * ((np.arange(size) + rng.integers(0, 4)) % 4 < 2)
        pattern = [wave[:, None], wave[None, :], np.full((1, 1), 50)][i % 3]
        image = np.full((size, size, 3), 20) + rng.integers(0, 8, (size, size, 3))
        image[..., i // 3 % 3] += np.broadcast_to(pattern, (size, size)) + 100
        images[i] = image
    return images


def test_vgg_ends_at_conv3_3_before_its_relu(weights: Path) -> None:
    net = VGG16(weights).eval()
    kinds = [type(layer) for layer in net.features]
    assert [i for i, kind in enumerate(kinds) if kind is nn.Conv2d] == list(CONVOLUTIONS) and len(kinds) == 15
    assert [i for i, kind in enumerate(kinds) if kind is nn.MaxPool2d] == [4, 9]
    features = net(torch.rand(1, 3, 16, 16))
    assert features.shape == (1, 256, 4, 4) and features.min() < 0


def test_grams_have_the_distances_of_whole_matrices() -> None:
    images = stripes(40)
    net = nn.Conv2d(3, 5, 3)
    rows = gram_matrices(images, net, silent=True)
    assert rows.shape == (40, 15)
    whole = []
    for image in images:  # one image and one pair of channels at a time
        x = (image / 255 - np.array(MEAN)) / np.array(STD)
        maps = net(torch.from_numpy(x).float().permute(2, 0, 1)[None])[0].detach().numpy()
        gram = np.array([[np.sum(a * b) for b in maps] for a in maps])
        whole.append(gram.reshape(-1) / np.linalg.norm(gram))
    for i, j in [(0, 1), (3, 17), (39, 8)]:
        assert np.linalg.norm(rows[i] - rows[j]) == pytest.approx(np.linalg.norm(whole[i] - whole[j]), abs=1e-4)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_clusters_are_textures_and_always_the_same(weights: Path) -> None:
    images = stripes(90)
    found = compute_textures(images, weights, silent=True)
    assert list(found) == list(TEXTURES)
    again = compute_textures(images, weights, silent=True)
    for name, codes in found.items():
        assert codes.dtype == np.int64 and set(codes) <= set(range(9))
        assert np.array_equal(codes, again[name])
        pure = sum(np.bincount(codes[kind::9]).max() for kind in range(9)) / len(codes)
        assert pure > 0.9  # images of one texture share a cluster, wherever their stripes are
    assert any(not np.array_equal(found["texture1"], found[name]) for name in TEXTURES[1:])


def test_wrong_weight_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no weight file.*vgg16-397923af\.pth"):
        VGG16(tmp_path / "missing.pth")
    torch.save({"features.0.weight": torch.zeros(64, 3, 3, 3)}, tmp_path / "other.pth")
    with pytest.raises(UserError, match=r"VGG16.*vgg16-397923af\.pth"):
        VGG16(tmp_path / "other.pth")
    torch.save({}, tmp_path / "vgg16-397923af.pth")
    with pytest.raises(UserError, match="damaged"):
        VGG16(tmp_path / "vgg16-397923af.pth")
