"""A frozen ResNet-18 with a head: what it sees, what is trained, and which weights it takes."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from fairflac.errors import UserError
from fairflac.nets.frozen import SIDE, Frozen, FrozenResNet18, fold_batch_norm
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import SimpleConvNet
from fairflac.nets.weights import find_imagenet_file, imagenet_file
from toy import ToyNet


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResNet18, Path]:
    """A ResNet-18 of 1,000 classes and the file that holds it."""
    torch.manual_seed(0)
    net, path = ResNet18(1000).eval(), tmp_path_factory.mktemp("weights") / "resnet18.safetensors"
    save_file(net.state_dict(), path)
    return net, path


def test_frozen_stays_in_eval_mode_without_gradients() -> None:
    network = ToyNet(2)
    frozen = Frozen(network)
    torch.nn.Sequential(frozen).train()
    assert not network.training
    assert not any(p.requires_grad for p in frozen.parameters())
    assert not frozen(torch.rand(2, 3, 6, 6)).features.requires_grad


def test_an_embedding_is_what_the_published_network_pools(published: tuple[ResNet18, Path]) -> None:
    net, images = FrozenResNet18(3, weights=published[1]).train(), torch.randn(2, 3, SIDE, SIDE)
    with torch.no_grad():
        torch.testing.assert_close(net.embed(images), published[0](images).features)
        larger = torch.randn(2, 3, SIDE, SIDE + 32)  # seen as they are
        torch.testing.assert_close(net.embed(larger), published[0](larger).features)
        enlarged = F.interpolate(images[..., :40, :40], (SIDE, SIDE), mode="bilinear", antialias=True)
        torch.testing.assert_close(
            net.embed(images[..., :40, :40]), published[0](enlarged).features, rtol=1e-3, atol=1e-3
        )


def test_images_and_their_embeddings_get_the_same_answer(published: tuple[ResNet18, Path]) -> None:
    net, images = FrozenResNet18(3, width=5, weights=published[1]).eval(), torch.randn(4, 3, 48, 48)
    logits, features = net(images)
    assert features.shape == (4, 5) == (4, net.feature_dim) and (features >= 0).all()
    torch.testing.assert_close(net.fc(features), logits)
    torch.testing.assert_close(net(net.embed(images)).logits, logits)


def test_a_folded_network_is_the_same_function_without_batch_norm() -> None:
    torch.manual_seed(0)
    net, images = ResNet18(2).eval(), torch.randn(2, 3, 48, 48)
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):  # as a training leaves it
            for values, low in (
                (module.weight, 0.5),
                (module.bias, -1),
                (module.running_mean, -1),
                (module.running_var, 0.5),
            ):
                torch.nn.init.uniform_(values, low, 1.5)
    with torch.no_grad():
        expected = net(images).features
        fold_batch_norm(net)
        torch.testing.assert_close(net(images).features, expected, rtol=1e-4, atol=1e-4)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in net.modules())


def test_only_the_head_is_trained(published: tuple[ResNet18, Path]) -> None:
    net = FrozenResNet18(2, weights=published[1]).train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    assert sum(p.numel() for p in net.parameters() if p.requires_grad) == (512 + 1) * 256 + (256 + 1) * 2
    optimiser = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], weight_decay=0.1)
    F.cross_entropy(net(torch.randn(4, 3, 32, 32)).logits, torch.tensor([0, 1, 0, 1])).backward()
    optimiser.step()
    moved = {name for name, value in net.state_dict().items() if not torch.equal(value, before[name])}
    statistics = {f"standardise.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")}
    assert moved == statistics | {"hidden.weight", "hidden.bias", "fc.weight", "fc.bias"}


def test_what_was_trained_loads_without_the_weights_it_began_with(published: tuple[ResNet18, Path]) -> None:
    trained, other = FrozenResNet18(2, weights=published[1]).eval(), FrozenResNet18(2).eval()
    other.load_state_dict(trained.state_dict())
    images = torch.randn(2, 3, 32, 32)
    assert torch.equal(other(images).logits, trained(images).logits)


def test_it_has_no_map_in_the_middle() -> None:
    with pytest.raises(UserError, match="FrozenResNet18 has none"):
        FrozenResNet18(2).middle  # noqa: B018


def test_a_network_that_is_not_frozen_embeds_nothing() -> None:
    with pytest.raises(NotImplementedError, match="no part of ToyNet is frozen"):
        ToyNet(2).embed(torch.rand(2, 3, 6, 6))


def test_its_imagenet_weights_are_those_of_resnet18(tmp_path: Path) -> None:
    assert imagenet_file(tmp_path, "frozen-resnet18") == imagenet_file(tmp_path, "resnet18")
    with pytest.raises(UserError, match="run 'fairflac data get imagenet-weights'"):
        find_imagenet_file(tmp_path, "frozen-resnet18")


def test_weights_that_do_not_fit_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no weight file"):
        FrozenResNet18(2, weights=tmp_path / "missing.pth")
    for other in (SimpleConvNet(2), ResNet18(2, stem="cifar"), FrozenResNet18(2)):
        torch.save(other.state_dict(), tmp_path / "other.pth")
        with pytest.raises(UserError, match=r"other\.pth' does not hold the weights of a ResNet18"):
            FrozenResNet18(2, weights=tmp_path / "other.pth")
