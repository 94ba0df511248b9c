"""Networks by name: their sizes, their features, and weights that are read from files."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from fairflac.errors import UserError
from fairflac.nets import NETS
from fairflac.nets.resnet import ResNet18
from fairflac.nets.small import MLP, SimpleConvNet

FOR_IMAGES = [name for name in NETS if name not in ("mlp", "timm", "frozen-resnet18")]  # which have tests of their own


@pytest.mark.parametrize("name", FOR_IMAGES)
def test_output_is_logits_and_the_features_they_come_from(name: str) -> None:
    net = NETS[name](7).eval()
    output = net(torch.rand(2, 3, 32, 32))
    assert output.logits.shape == (2, 7)
    assert output.features.shape == (2, net.feature_dim)
    fc = net.get_submodule("fc")
    torch.testing.assert_close(fc(output.features), output.logits)


def test_simple_conv_has_the_papers_size() -> None:
    assert sum(p.numel() for p in SimpleConvNet(10, kernel_size=7).parameters()) == 531_210


def test_strides_shrink_the_map() -> None:
    net = SimpleConvNet(10, strides=(1, 2, 1, 2))
    assert net.blocks(torch.rand(1, 3, 28, 28)).shape == (1, 128, 7, 7)


def test_a_one_pixel_kernel_sees_colour_only() -> None:
    net = SimpleConvNet(10, kernel_size=1).eval()
    x = torch.rand(1, 3, 8, 8)
    shuffled = x.flatten(2)[:, :, torch.randperm(64)].view_as(x)
    torch.testing.assert_close(net(x).logits, net(shuffled).logits)


def test_strides_of_a_one_pixel_kernel_pick_pixels() -> None:
    """As a strided convolution, whose channels-last form in torch 2.13 writes where it must not."""
    net = SimpleConvNet(10, kernel_size=1, strides=(1, 2, 1, 2), channels=(4, 4, 8, 8))
    pick, conv = net.blocks[1][0], net.blocks[1][1]
    x = torch.rand(2, 4, 9, 9)
    torch.testing.assert_close(conv(pick(x)), F.conv2d(x, conv.weight, conv.bias, stride=2))


def test_resnet_has_torchvisions_names_and_size() -> None:
    """Facts of torchvision's resnet18: 122 entries, 11,689,512 parameters for 1000 classes."""
    net = ResNet18(1000)
    state = net.state_dict()
    assert len(state) == 122
    assert sum(p.numel() for p in net.parameters()) == 11_689_512
    expected = {
        "conv1.weight": (64, 3, 7, 7),
        "bn1.running_mean": (64,),
        "layer1.0.conv1.weight": (64, 64, 3, 3),
        "layer2.0.downsample.0.weight": (128, 64, 1, 1),
        "layer2.0.downsample.1.num_batches_tracked": (),
        "layer4.1.bn2.bias": (512,),
        "fc.weight": (1000, 512),
    }
    assert {name: tuple(state[name].shape) for name in expected} == expected


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_resnet_loads_weights_from_a_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"weights{suffix}"
    state = ResNet18(1000).state_dict()
    if suffix == ".pth":
        torch.save(state, path)
    else:
        save_file(state, path)
    other = ResNet18(2, weights=path)  # another number of classes: its own last layer
    assert other.fc.weight.shape == (2, 512)
    assert torch.equal(other.layer3[0].conv1.weight, state["layer3.0.conv1.weight"])
    same = ResNet18(1000, weights=path)
    assert torch.equal(same.fc.weight, state["fc.weight"])


def test_wrong_weight_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no weight file"):
        ResNet18(2, weights=tmp_path / "missing.pth")
    (tmp_path / "noise.pth").write_bytes(b"noise")
    with pytest.raises(UserError, match=r"noise\.pth"):
        ResNet18(2, weights=tmp_path / "noise.pth")
    torch.save(SimpleConvNet(2).state_dict(), tmp_path / "other.pth")
    with pytest.raises(UserError, match="ResNet18"):
        ResNet18(2, weights=tmp_path / "other.pth")


@pytest.mark.parametrize("name", FOR_IMAGES)
def test_the_middle_is_a_map_with_the_channels_it_claims(name: str) -> None:
    net, seen = NETS[name](3), []
    net.get_submodule(net.middle).register_forward_hook(lambda *call: seen.append(call[2].shape))
    net(torch.rand(2, 3, 32, 32))
    assert len(seen[0]) == 4 and seen[0][1] == net.middle_dim


def test_simple_conv_with_tanh_and_unit_features() -> None:
    net = SimpleConvNet(3, channels=(2, 2, 2, 4), kernel_size=3, last="tanh", unit_features=True)
    logits, features = net(torch.randn(5, 3, 8, 8))
    assert (features < 0).any()
    torch.testing.assert_close(logits, net.fc(torch.nn.functional.normalize(features)))


def test_features_are_the_last_width() -> None:
    net = MLP(3, inputs=5, widths=(8, 4)).eval()
    output = net(torch.randn(6, 5))
    assert output.features.shape == (6, 4) == (6, net.feature_dim)
    torch.testing.assert_close(net.fc(output.features), output.logits)


def test_inputs_are_standardised_by_all_that_training_has_seen() -> None:
    net = MLP(2, inputs=3)
    x = torch.randn(40, 3) * torch.tensor([1.0, 100.0, 0.01]) + 50
    for part in x.split(10):
        net(part)
    torch.testing.assert_close(net.standardise.running_mean, x.mean(0))
    assert net.eval().standardise(x).std(0).sub(1).abs().max() < 0.1


def test_a_wrong_number_of_inputs_is_told() -> None:
    with pytest.raises(UserError, match="takes 5 numbers: set inputs to 12"):
        MLP(2, inputs=5)(torch.rand(2, 3, 2, 2))


def test_it_has_no_map_in_the_middle() -> None:
    net = MLP(2, inputs=3)
    assert not hasattr(net, "middle")
    with pytest.raises(UserError, match="MLP has none"):
        net.middle_dim  # noqa: B018
