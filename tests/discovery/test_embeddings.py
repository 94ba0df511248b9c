"""Images as embeddings: of which part of an image, by which weights, and when they are computed anew."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from fairflac.data.base import BiasedDataset
from fairflac.discovery.embeddings import Embeddings
from fairflac.nets.frozen import FrozenResNet18
from toy import ToyNet, toy_data


@pytest.fixture(scope="module")
def net() -> FrozenResNet18:
    torch.manual_seed(0)
    return FrozenResNet18(2)


@pytest.fixture
def embed(tmp_path: Path, fabric: Fabric) -> Embeddings:
    return Embeddings(tmp_path, fabric, silent=True)


DATA = replace(toy_data(5), task=replace(toy_data(5).task, image_size=(4, 4)))  # stored at 6 x 6


def test_they_are_of_the_middle_of_an_image_as_the_task_normalises_it(net: FrozenResNet18, embed: Embeddings) -> None:
    found = embed(net, DATA)
    with torch.no_grad():
        expected = net.embed(((torch.from_numpy(DATA.images[:, 1:5, 1:5]) / 255 - 0.5) / 0.5).permute(0, 3, 1, 2))
    np.testing.assert_allclose(found.images, expected.numpy(), rtol=1e-3, atol=1e-4)
    assert found.images.dtype == np.float32 and found.task == DATA.task and np.array_equal(found.y, DATA.y)


def test_what_is_not_frozen_sees_images_and_embeddings_stay(net: FrozenResNet18, embed: Embeddings) -> None:
    assert embed(ToyNet(2), DATA) is DATA
    found = embed(net, DATA)
    assert embed(net, found) is found


def test_another_backbone_size_or_normalisation_is_another_embedding(net: FrozenResNet18, embed: Embeddings) -> None:
    def kept(network: FrozenResNet18, data: BiasedDataset) -> int:
        embed(network, data)
        return len(list(embed.cache.glob("*.npy")))

    head = FrozenResNet18(7, width=3)
    head.backbone.load_state_dict(net.backbone.state_dict())
    assert kept(net, DATA) == kept(head, DATA) == 1  # the same weights below another head
    assert kept(FrozenResNet18(2), DATA) == 2
    assert kept(net, replace(DATA, task=replace(DATA.task, image_size=(6, 6)))) == 3
    assert kept(net, replace(DATA, task=replace(DATA.task, mean=(0.4, 0.5, 0.5)))) == 4
